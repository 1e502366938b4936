"""A parser for tests of HTML pages: elements, texts, and what is not well formed."""

from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "br", "input", "link", "img", "hr"}
LOADING = {"src", "srcset", "poster", "data", "action", "formaction", "background", "ping"}


class Outline(HTMLParser):
    """Elements with their attributes, texts by element, and what is not closed as it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.mistakes: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.mistakes += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.mistakes.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def inside(self, tag: str) -> list[str]:
        return [text for within, text in self.texts if within == tag]


def assert_self_contained(page: Outline) -> None:
    """The page is well formed, loads nothing, runs no handler, and its links lead into it or out on request."""
    assert not page.mistakes
    identities = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
    assert not [name for name, number in identities.items() if number > 1]
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not LOADING & set(attributes)
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        target = attributes.get("href")
        if target:
            assert target.startswith("https://") or target[1:] in identities, target
