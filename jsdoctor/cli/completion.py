"""What a shell offers where a rule, a parameter or a page is to be named."""

from __future__ import annotations


def complete_rule(incomplete: str) -> list[tuple[str, str]]:
    """Shell completion of rule codes and slugs."""
    from jsdoctor.app.rulebook import open_rulebook

    rules = open_rulebook().rules
    names = [(name, rule.title) for rule in rules for name in (rule.code, rule.slug)]
    return [pair for pair in names if pair[0].lower().startswith(incomplete.lower())]


def complete_symptom(incomplete: str) -> list[tuple[str, str]]:
    """Shell completion of symptoms."""
    from jsdoctor.app.rulebook import open_rulebook, open_symptoms

    symptoms = open_symptoms(open_rulebook()).symptoms
    return [(symptom.slug, symptom.title) for symptom in symptoms if symptom.slug.startswith(incomplete.lower())]


def complete_page(incomplete: str) -> list[tuple[str, str]]:
    """Shell completion of what has a page: rules and symptoms."""
    from jsdoctor.app.rulebook import open_rulebook, open_symptoms

    book = open_symptoms(open_rulebook())
    symptoms = [(symptom.slug, symptom.title) for symptom in book.symptoms]
    return complete_rule(incomplete) + [pair for pair in symptoms if pair[0].startswith(incomplete.lower())]


def complete_setting(incomplete: str) -> list[tuple[str, str]]:
    """Shell completion of rule parameters, as far as the equals sign."""
    from jsdoctor.app.rulebook import open_rulebook

    params = [
        (f"{rule.code}.{param.name}=", param.help) for rule in open_rulebook().rules for param in rule.params.values()
    ]
    return [pair for pair in params if pair[0].lower().startswith(incomplete.lower())]
