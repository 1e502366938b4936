"""The documentation site: pages made from README, docs/ and the rule pages, and built with strict links.

python -m tools.site [--url URL] [--repository URL] [OUT]
"""
