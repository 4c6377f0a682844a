/* Tables that scroll can be scrolled by keyboard, too. */
addEventListener("load", () => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (wrap.scrollWidth > wrap.clientWidth) wrap.tabIndex = 0;
  }
});

// An option is not broken after its hyphens.
addEventListener("DOMContentLoaded", () => {
  for (const code of document.querySelectorAll(".md-typeset :not(pre) > code")) {
    if (/^-\S{1,24}$/.test(code.textContent)) code.style.whiteSpace = "nowrap";
  }
});
