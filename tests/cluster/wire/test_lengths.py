"""Lengths in messages are followed to their ends, and those that the bytes do not have are refused before room is made."""

from __future__ import annotations

import resource

import pytest
from kio.serial import entity_reader

from acked.cluster.wire.apis import Api
from acked.cluster.wire.codec import Unreadable, read_request, read_response, request_head
from acked.cluster.wire.lengths import WrongLength, end_of
from acked.cluster.wire.older import request_schema, response_schema
from tests.fuzzing.messages import answers, requests


@pytest.mark.slow
def test_every_message_of_every_version_ends_where_it_ends() -> None:
    for api, version, payload in answers():
        schema = response_schema(api, version)
        assert schema is not None
        _, at = entity_reader(schema.__header_schema__)(payload, 0)
        assert end_of(schema, payload, at) == len(payload)
        read_response(api, version, payload)
    for payload in requests():
        head = request_head(payload)
        schema = request_schema(head.api, head.version)
        assert schema is not None
        _, at = entity_reader(schema.__header_schema__)(payload, 0)
        assert end_of(schema, payload, at) == len(payload)
        read_request(payload)


@pytest.mark.parametrize("count", [2**31 - 1, 2**30, 1_000])
def test_an_array_that_names_more_elements_than_there_are_bytes_is_refused(count: int) -> None:
    """Where kio is asked, it makes room for all of them, and where there is none it ends the process."""
    payload = b"\0\0\0\7\0\0" + count.to_bytes(4, "big") + b"\0\1\0\2" * 20  # ApiVersions version 0: error, then an array
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Unreadable, match="elements or bytes at byte"):
        read_response(Api.API_VERSIONS, 0, payload)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.slow
def test_a_message_that_is_cut_has_no_end_beyond_it() -> None:
    for api, version, payload in answers()[::7]:
        schema = response_schema(api, version)
        assert schema is not None
        for cut in range(4, len(payload), 5):
            try:
                at = end_of(schema, payload[:cut], 4 + schema.__header_schema__.__flexible__)
            except WrongLength:
                continue
            assert at > cut  # The last value is longer than what is left of it, as kio says.
            with pytest.raises(Unreadable):
                read_response(api, version, payload[:cut])
