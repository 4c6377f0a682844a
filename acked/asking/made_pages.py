"""What the gallery made of a spec before: its rows and pages, kept in the cache under everything that they are made of."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from acked.base.cache import NotOurs, SealedStore, cache_folder
from acked.base.files import ROOMS, read_bytes
from acked.base.frozen import frozen
from acked.base.sources import sources_hash
from acked.base.version import __version__
from acked.checker.spec.spec import Spec
from acked.checker.spec.variants import file_and_variant
from acked.reports.pages.gallery import Story

_FORMAT = "acked-gallery/1"


@frozen
class MadePages:
    """The rows of one spec in the gallery, and the HTML of its pages by the name of the file."""

    stories: list[Story]
    pages: dict[str, str]


class PageCache:
    """Rows and pages by spec, sealed as all entries of the cache; what is not there, or not ours, is made anew."""

    def __init__(self, folder: Path) -> None:
        self._store = SealedStore.of(folder)
        self._made_by = f"{__version__} {sources_hash(ROOMS)}"

    @classmethod
    def usual(cls) -> PageCache | None:
        """That of this user; None where nothing can be kept."""
        folder = cache_folder("gallery")
        return None if folder is None else cls(folder)

    def get(self, spec: Spec) -> MadePages | None:
        """What was made of a spec, if it, acked and everything else are as they were."""
        try:
            content = self._store.read(self._name(spec))
            if content is None:
                return None
            known = json.loads(content)
            stories = [Story(**{**item, "settings": tuple(item["settings"])}) for item in known["stories"]]
            return MadePages(stories, dict(known["pages"]))
        except (NotOurs, OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, spec: Spec, made: MadePages) -> None:
        """Keeps what was made of a spec."""
        document = {"stories": [asdict(item) for item in made.stories], "pages": made.pages}
        self._store.write(self._name(spec), json.dumps(document).encode())

    def _name(self, spec: Spec) -> str:
        assert spec.path is not None
        text = hashlib.sha256(read_bytes(file_and_variant(spec.path)[0], "spec file")).hexdigest()
        return f"{hashlib.sha256(f'{_FORMAT} {self._made_by} {spec.name} {text}'.encode()).hexdigest()}.json"
