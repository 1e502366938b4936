"""Kinds of secrets as people write them, and ordinary text that looks a little like them.

A kind is the text as it stands in a field, and the part of it that must not be shown. All values are made up; the ones
with a form of their own are put together here, so that no scanner of repositories takes them for real ones.
"""

import base64
from dataclasses import dataclass

_WORD = "pl4nted-s3cr3t-Va1ue"
_ALNUM = "Pl4ntedS3cr3tVa1ueThatIsL0ngEn0ugh0123456789AbCdEfGh"
_HEX = "5ec7e7a1b2c3d4e5f60718293a4b5c6d7e8f9a0b"
_BASE32 = "ACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
_B64 = base64.b64encode(b"app:" + _WORD.encode()).decode()
_JWT = ".".join(
    ("eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ", "eyJqdGkiOiJQbDRudGVkUzNjcjN0In0", "c2lnbmF0dXJl" * 4)
)


@dataclass(frozen=True)
class Kind:
    """`text` is what stands in a field; `secret` is the part of it that nobody may see."""

    name: str
    text: str
    secret: str


def _pem(label: str, kind: str) -> Kind:
    body = base64.b64encode(f"{label} {_WORD}".encode() * 2).decode()
    return Kind(kind, f"-----BEGIN {label}-----\n{body}\n-----END {label}-----", body)


def _all() -> tuple[Kind, ...]:
    urls = {
        "nats URL with user and password": f"nats://app:{_WORD}@10.0.0.1:4222",
        "nats URL with token": f"nats://{_WORD}@10.0.0.1:4222",
        "tls URL": f"tls://leaf:{_WORD}@hub.example:7422",
        "ws URL": f"ws://app:{_WORD}@hub.example:8080",
        "wss URL": f"wss://app:{_WORD}@hub.example",
        "http URL": f"http://ops:{_WORD}@hub.example:8222/varz",
        "https URL": f"https://ops:{_WORD}@hub.example/x?y=1",
        "URL without its scheme": f"app:{_WORD}@10.0.0.1:4222",
        "URL with a password that is not escaped": f"nats://app:x/{_WORD}@10.0.0.1:4222",
        "nats-route URL": f"nats-route://route:{_WORD}@n2:6222",
        "amqp URL": f"amqp://guest:{_WORD}@mq/vhost",
        "kafka URL": f"kafka+ssl://svc:{_WORD}@broker:9093",
        "redis URL": f"redis://:{_WORD}@cache:6379/0",
        "postgres URL": f"postgres://orders:{_WORD}@db/orders",
        "mongodb URL": f"mongodb+srv://orders:{_WORD}@db.example/orders",
        "git URL": f"https://x-access-token:{_WORD}@github.example/shop/orders.git",
        "webhook URL": f"https://hooks.slack.com/services/T0PLANTED/B0PLANTED/{_ALNUM[:24]}",
        "discord URL": f"https://discord.com/api/webhooks/123456789012345678/{_ALNUM}",
        "URL with token in the query": f"https://hub.example/api?access_token={_WORD}&page=2",
        "URL with key in the query": f"https://hub.example/api?page=2&api_key={_WORD}",
        "URL with password in the query": f"https://hub.example/login?user=app&password={_WORD}",
        "URL with a shared signature": f"https://blob.example/c/b?sv=2022&sig={_ALNUM}%3D&se=2030",
        "URL signed for S3": f"https://s3.example/b/k?X-Amz-Expires=60&X-Amz-Signature={_HEX}",
    }
    assigned = {
        "password =": f"password={_WORD}",
        "password :": f"password: {_WORD}",
        "pass :": f"pass: {_WORD}",
        "passwd": f"passwd={_WORD}",
        "pwd": f"db.pwd={_WORD}",
        "passphrase": f"passphrase='{_WORD}'",
        "password in JSON": f'{{"user": "app", "password": "{_WORD}"}}',
        "password with escapes in JSON": f'{{"user":"app","password":"hunt\\u0026er-{_WORD}"}}',
        "password in single quotes": f"password: 'it\\'s-{_WORD}'",
        "pass in CONNECT": f'CONNECT {{"verbose":false,"user":"app","pass":"{_WORD}","lang":"go"}}',
        "auth_token in CONNECT": f'CONNECT {{"auth_token":"{_WORD}","lang":"go"}}',
        "signature in CONNECT": f'CONNECT {{"nkey":"UABC","sig":"{_ALNUM}","lang":"go"}}',
        "password in escaped JSON": f'{{\\"password\\": \\"{_WORD}\\"}}',
        "password in a connection string": f"Server=db;User Id=app;Password={_WORD};Timeout=3",
        "account key in a connection string": f"AccountName=shop;AccountKey={_ALNUM}==;Suffix=x",
        "shared access key": f"SharedAccessKeyName=root;SharedAccessKey={_ALNUM}=",
        "token =": f"token={_WORD}",
        "token in quotes": f'Token "{_WORD}"',
        "auth token": f"auth_token: {_WORD}",
        "access token": f"access-token={_WORD}",
        "refresh token": f"refresh_token={_WORD}",
        "session token": f"AWS_SESSION_TOKEN={_ALNUM}",
        "bearer header": f"Authorization: Bearer {_WORD}",
        "basic header": f"Authorization: Basic {_B64}",
        "bearer alone": f"sent bearer {_ALNUM}",
        "api key header": f"X-Api-Key: {_WORD}",
        "api key": f"api-key={_WORD}",
        "apikey": f"apikey={_WORD}",
        "cookie": f"Cookie: session={_ALNUM}; theme=dark",
        "secret": f"secret={_WORD}",
        "client secret": f"client_secret: {_WORD}",
        "AWS secret access key": f"aws_secret_access_key={_ALNUM[:40]}",
        "access key": f"access_key={_WORD}",
        "encryption key": f"encryption_key: {_WORD}",
        "credentials": f"credentials={_WORD}",
        "option --password": f"nats --user app --password {_WORD} stream ls",
        "option --token": f"nats sub x --token {_WORD}",
        "option --auth": f"nats-server -js --auth {_WORD}",
        "option -auth with =": f"nats-server -auth={_WORD} -js",
        "option in quotes": f"nats --user app --password '{_WORD}' stream ls",
        "options as an array": f'["nats-server", "--user", "app", "--pass", "{_WORD}", "-js"]',
        "options as an escaped array": f'{{"args": "[\\"--pass\\", \\"{_WORD}\\"]"}}',
        "options as a list": f"args:\n  - --auth\n  - {_WORD}\n  - -js\n",
        "variable": f"export NATS_PASSWORD={_WORD}",
        "YAML of an environment": f"name: NATS_PASSWORD, value: {_WORD}",
        "netrc": f"machine hub.example login app password {_WORD}",
        "docker auth": f'{{"auths": {{"hub": {{"auth": "{_B64}"}}}}}}',
    }
    shaped = {
        "user seed": f"SU{_BASE32}",
        "account seed": f"SA{_BASE32}",
        "operator seed": f"SO{_BASE32}",
        "curve seed": f"SX{_BASE32}",
        "JWT": _JWT,
        "bcrypt": "$2a$11$" + (_ALNUM + "x" * 9)[:53],
        "AWS access key id": "AKIA" + "PL4NTEDS3CR3TVA1",
        "GitHub token": "ghp_" + _ALNUM[:36],
        "GitHub fine-grained token": "github_pat_" + _ALNUM[:22] + "_" + _ALNUM[:40],
        "GitLab token": "glpat-" + _ALNUM[:20],
        "Slack token": "xoxb-" + "123456789012-" + _ALNUM[:24],
        "Stripe key": "sk_live_" + _ALNUM[:24],
        "OpenAI key": "sk-proj-" + _ALNUM[:48],
        "Google key": "AIza" + _ALNUM[:35],
        "npm token": "npm_" + _ALNUM[:36],
        "PyPI token": "pypi-AgEIcHlwaS5vcmc" + _ALNUM,
        "Hugging Face token": "hf_" + _ALNUM[:34],
        "DigitalOcean token": "dop_v1_" + (_HEX * 2)[:64],
        "SendGrid key": "SG." + _ALNUM[:22] + "." + _ALNUM[:43],
        "Vault token": "hvs." + _ALNUM,
        "age key": "AGE-SECRET-KEY-1" + (_BASE32 + _BASE32)[:58],
    }
    kinds = [Kind(name, text, _hidden(text)) for name, text in {**urls, **assigned, **shaped}.items()]
    labels = ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "NATS USER JWT", "USER NKEY SEED")
    return (*kinds, *(_pem(label, f"PEM {label}") for label in labels))


def _hidden(text: str) -> str:
    """The planted part of a text."""
    forms = (_WORD, _B64, _JWT, "SU" + _BASE32, "SA" + _BASE32, "SO" + _BASE32, "SX" + _BASE32)
    for form in forms:
        if form in text:
            return form
    for form in (_ALNUM, _ALNUM[:48], _ALNUM[:43], _ALNUM[:40], _ALNUM[:36], _ALNUM[:35], _ALNUM[:34], _ALNUM[:24]):
        if form in text:
            return form
    return next((form for form in (_ALNUM[:20], _HEX[:40], _BASE32) if form in text), text[4:])


KINDS = _all()

ORDINARY = (
    "Plaintext passwords detected, use nkeys or bcrypt",
    "the token bucket of client 7 is empty, key by key",
    "ORDERS.token.created",
    "password-reset-requests",
    "SUBMITTED ORDERS OF SATURDAY",
    "SALES_INVOICES_AND_ORDERS_OF_ALL_COUNTRIES_2026",
    "sk-learn jobs and task-runner-1",
    "hf_jobs, npm_audit, pypi-mirror, glpat, xoxb",
    "keys: 17, secrets: none, tokens left",
    "nats://10.0.0.1:4222",
    "http://ops.example:8222/jsz?streams=1&config=true",
    "https://docs.nats.io/running-a-nats-service/configuration/securing_nats",
    "mail ops@example.com about it: ops@example.com",
    "image: nats:2.15.1-alpine@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "http://10.0.0.1:8222/x?mail=ops@example.com and JOBS > worker:7@C1",
    "abfss://logs@shop.dfs.core.windows.net/nats and ssh://git@github.example/shop",
    "give http://USER:PASSWORD@HOST:8222",
    "a key without its passphrase: openssl pkey -in KEY -out PLAIN_KEY",
    "Access denied (using password: YES)",
    "subject orders.*.paid, queue group workers, durable worker",
    "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
    "ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "4a7c2e0f-9b1d-4c3e-8f5a-6b7c8d9e0f1a",
    "-----BEGIN of the second part-----",
    "basic authentication is off, bearer of bad news, cookie policy",
    "Authentication: required",
    "it took 3 s: key ordering, signing, sig not sent",
    "$2a$ is how bcrypt begins",
    "pass 2 of 3, bypass: off, compass=north",
    "auth: required, authorization violation",
    "export NATS_URL=nats://n1:4222",
    "nats stream info ORDERS --token is not needed",
    "servers that take connections without credentials: a warning",
    "password: $NATS_PASSWORD, token: << $TOKEN >>, secret: {name: s}",
    "password policy: see the wiki",
)
"""Text in which nothing is a secret: names, sentences, public keys, hashes."""
