"""The meaning of each variable, and the messages for invalid values."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from greenroom.kernel.limits import Limits
from greenroom.platform.blobs.place import S3Place
from greenroom.setting_values import SettingsError
from greenroom.settings import (
    SETTINGS,
    Settings,
    describe,
    limit_variable,
    load_settings,
)

STRIPE_KEY = "rk_test_abcdefgh"
STRIPE_WEBHOOK = "whsec_abcdefgh"
SECRET = "a secret for tests that is long enough"
DATABASE_URL = "postgresql://greenroom:hunter2@db.example.com:5432/greenroom"
DEFAULTS = Settings(
    home=Path.cwd() / ".greenroom",
    host="127.0.0.1",
    port=8000,
    workers=1,
)


def test_nothing_needs_to_be_set() -> None:
    assert load_settings({}) == DEFAULTS
    assert load_settings({each.name: "" for each in SETTINGS}) == DEFAULTS


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("HOME", "/srv/greenroom", "home", Path("/srv/greenroom")),
        ("HOME", "here", "home", Path.cwd() / "here"),
        ("HOST", "0.0.0.0", "host", "0.0.0.0"),  # noqa: S104
        ("PORT", "0", "port", 0),
        ("PORT", "65535", "port", 65535),
        ("WORKERS", "64", "workers", 64),
        ("DATABASE_URL", DATABASE_URL, "database_url", DATABASE_URL),
        ("JWT_SECRET", SECRET, "jwt_secret", SECRET),
        ("JWKS_URL", "https://example.com/keys", "jwks_url", "https://example.com/keys"),
        ("JWKS_URL", "http://127.0.0.1:9/keys", "jwks_url", "http://127.0.0.1:9/keys"),
        ("JWT_AUDIENCE", "greenroom", "jwt_audience", "greenroom"),
        ("JWT_ISSUER", "shop", "jwt_issuer", "shop"),
        (
            "ALLOWED_ORIGINS",
            " https://a.example/ ,, http://localhost:3000",
            "allowed_origins",
            ("https://a.example", "http://localhost:3000"),
        ),
        ("CONVERSATIONS", "dynamodb", "conversations", "dynamodb"),
        ("DYNAMODB_ENDPOINT", "embedded", "dynamodb_endpoint", "embedded"),
        ("DYNAMODB_ENDPOINT", "http://[::1]:8000/", "dynamodb_endpoint", "http://[::1]:8000"),
        ("DYNAMODB_ENDPOINT", "https://db.example", "dynamodb_endpoint", "https://db.example"),
        ("DYNAMODB_TABLE", "chat.test_1-a", "dynamodb_table", "chat.test_1-a"),
        ("DYNAMODB_REGION", "eu-central-1", "dynamodb_region", "eu-central-1"),
        ("BLOBS", "/srv/blobs", "blobs", Path("/srv/blobs")),
        ("BLOBS", "here", "blobs", Path.cwd() / "here"),
        ("BLOBS", "s3://shop-files", "blobs", S3Place("shop-files")),
        ("BLOBS", "s3://shop.files/a/b-1/", "blobs", S3Place("shop.files", "a/b-1/")),
        ("S3_ENDPOINT", "embedded", "s3_endpoint", "embedded"),
        ("S3_ENDPOINT", "http://minio:9000/", "s3_endpoint", "http://minio:9000"),
        ("S3_REGION", "eu-central-1", "s3_region", "eu-central-1"),
        ("EVENTBRIDGE_BUS", "marketplace", "eventbridge_bus", "marketplace"),
        ("EVENTBRIDGE_CONTENT", "1", "eventbridge_content", True),
        ("CARDS", "/", "cards", Path("/")),
        ("CARDS", ".", "cards", Path.cwd()),
        ("PAYMENTS_URL", "https://pay.example/gate/", "payments_url", "https://pay.example/gate"),
        ("PAYMENTS_URL", "http://127.0.0.1:9000", "payments_url", "http://127.0.0.1:9000"),
        ("PAYMENTS_SECRET", SECRET, "payments_secret", SECRET),
        ("PAYMENTS", "sandbox", "payments", "sandbox"),
        ("STRIPE_API_KEY", STRIPE_KEY, "stripe_api_key", STRIPE_KEY),
        ("STRIPE_WEBHOOK_SECRET", STRIPE_WEBHOOK, "stripe_webhook_secret", STRIPE_WEBHOOK),
        ("STRIPE_URL", "http://127.0.0.1:12111", "stripe_url", "http://127.0.0.1:12111"),
        ("STRIPE_URL", "https://proxy.example/", "stripe_url", "https://proxy.example"),
        (
            "PAYMENT_CONFIRM_URL",
            "https://a.example/p",
            "payment_confirm_url",
            "https://a.example/p",
        ),
        ("CANCELLATION_POLICY", "24:100", "cancellation_policy", "24:100"),
        ("CANCELLATION_POLICY", "48:50, 168:100", "cancellation_policy", "48:50, 168:100"),
        ("WORKER", "0", "worker", False),
        ("WORKER", "1", "worker", True),
        ("PUBLIC_URL", "https://chat.example/", "public_url", "https://chat.example"),
        ("PUBLIC_URL", "http://[::1]:8000", "public_url", "http://[::1]:8000"),
        ("TLS_CERT", "/etc/tls/chain.pem", "tls_cert", Path("/etc/tls/chain.pem")),
        ("TLS_KEY", "key.pem", "tls_key", Path.cwd() / "key.pem"),
        ("ACCESS_LOG", "1", "access_log", True),
        ("ACCESS_LOG", "0", "access_log", False),
    ],
)
def test_each_variable_sets_one_thing(variable: str, text: str, name: str, value: Any) -> None:
    assert load_settings({f"GREENROOM_{variable}": text}) == replace(DEFAULTS, **{name: value})


def test_every_field_has_its_variable() -> None:
    named = {each.name.removeprefix("GREENROOM_").lower() for each in SETTINGS}
    assert named | {"limits"} == {each.name for each in fields(Settings)}


@pytest.mark.parametrize("name", [each.name for each in fields(Limits)])
def test_each_limit_has_a_variable(name: str) -> None:
    limits = load_settings({limit_variable(name): "12345"}).limits
    assert limits == replace(Limits(), **{name: 12345})


@pytest.mark.parametrize(
    "url",
    [
        "postgres://db/greenroom",
        "postgresql:///greenroom?host=/run/postgresql",
        "postgresql://u:p%40ss@[::1]:5432/greenroom?sslmode=require",
        "postgresql://u:p@primary:5432,standby:5433/greenroom",
    ],
)
def test_every_usual_form_of_database_address_is_taken(url: str) -> None:
    assert load_settings({"GREENROOM_DATABASE_URL": url}).database_url == url


@pytest.mark.parametrize(
    ("variable", "text", "complaint"),
    [
        ("PORT", "65536", "from 0 to 65535, not '65536'"),
        ("PORT", "-1", "from 0 to 65535"),
        ("PORT", "8000 ", "from 0 to 65535"),
        ("PORT", "٨٠", "from 0 to 65535"),
        ("PORT", "tcp://10.0.0.1:8000", "from 0 to 65535"),
        ("PORT", "9" * 5000, "from 0 to 65535"),
        ("WORKERS", "0", "from 1 to 64"),
        ("LIMIT_PAGE", "0", "GREENROOM_LIMIT_PAGE takes a whole number from 1"),
        ("LIMIT_PAGE", "many", "not 'many'"),
        ("LIMIT_PAGES", "5", "Did you mean GREENROOM_LIMIT_PAGE"),
        ("LIMIT_NOTHING_LIKE_IT_AT_ALL", "5", "`greenroom config` then lists all"),
        ("ACCESS_LOG", "true", "takes 1 or 0, not 'true'"),
        ("CONVERSATIONS", "mongodb", "takes postgres or dynamodb, not 'mongodb'"),
        ("DYNAMODB_ENDPOINT", "localhost:8000", "takes http://host:port"),
        ("DYNAMODB_ENDPOINT", "http://", "takes http://host:port"),
        ("DYNAMODB_ENDPOINT", "http://host:port", "unset it to use AWS"),
        ("DYNAMODB_ENDPOINT", "http://a/b", "takes http://host:port"),
        ("DYNAMODB_ENDPOINT", "http://user:key@a", "takes http://host:port"),
        ("DYNAMODB_TABLE", "no", "takes 3 to 255 characters"),
        ("DYNAMODB_TABLE", "a table", "not 'a table'"),
        ("DYNAMODB_REGION", "Frankfurt", "such as eu-central-1"),
        ("BLOBS", "s3://", "takes a folder, or s3://bucket"),
        ("BLOBS", "s3://Shop", "takes a folder, or s3://bucket"),
        ("BLOBS", "s3://shop/../other", "takes a folder, or s3://bucket"),
        ("BLOBS", "s3://shop/a b", "takes a folder, or s3://bucket"),
        ("BLOBS", "https://shop.example", "takes a folder, or s3://bucket"),
        ("S3_ENDPOINT", "minio:9000", "takes http://host:port"),
        ("S3_REGION", "Frankfurt", "such as eu-central-1"),
        ("EVENTBRIDGE_BUS", "arn:aws:s3:::a-bucket", "the name of an event bus"),
        ("EVENTBRIDGE_BUS", "a bus", "not 'a bus'"),
        ("CARDS", "/no/such/folder", "there is none at '/no/such/folder'"),
        ("CARDS", __file__, "takes a folder"),
        ("PAYMENTS_URL", "pay.example", "such as https://example.com"),
        ("PAYMENTS_URL", "ftp://pay.example", "such as https://example.com"),
        ("PAYMENTS_URL", "https://", "such as https://example.com"),
        ("PAYMENTS_URL", "https://pay.example:port", "such as https://example.com"),
        ("PAYMENTS_URL", "https://pay.example/?a=1", "such as https://example.com"),
        ("PAYMENTS_URL", "https://pay.example/#a", "such as https://example.com"),
        ("PAYMENTS_URL", "https://pay.example/a b", "such as https://example.com"),
        ("PAYMENTS_SECRET", "x" * 31, "at least 32 bytes"),
        ("PAYMENTS", "paypal", "takes sandbox, gateway or stripe, not 'paypal'"),
        ("PAYMENTS", "gateway", "also needs GREENROOM_PAYMENTS_URL"),
        ("PAYMENTS", "stripe", "also needs GREENROOM_STRIPE_API_KEY"),
        ("STRIPE_API_KEY", "pk_test_abcdefgh", "begins with pk_ is public"),
        ("STRIPE_API_KEY", "sk_test_abc defgh", "takes a secret or restricted key"),
        ("STRIPE_WEBHOOK_SECRET", "hunter2", "takes the signing secret"),
        ("STRIPE_URL", "http://stripe.example", "takes an https:// address"),
        ("CANCELLATION_POLICY", "generous", "written as 168:100,48:50,0:0"),
        ("CANCELLATION_POLICY", "168:100,", "written as 168:100,48:50,0:0"),
        ("CANCELLATION_POLICY", "48:101", "refund_percent takes 0 to 100"),
        ("CANCELLATION_POLICY", "99999:100", "notice_hours takes 0 to"),
        ("CANCELLATION_POLICY", "9" * 5000 + ":1", "written as 168:100,48:50,0:0"),
        ("CANCELLATION_POLICY", "48:50,48:40", "two tiers of the same notice_hours"),
        ("CANCELLATION_POLICY", "168:50,48:100", "less for a longer notice"),
        ("CANCELLATION_POLICY", ",".join(f"{n}:0" for n in range(11)), "1 to 10 tiers"),
        ("WORKER", "no", "takes 1 or 0, not 'no'"),
        ("PUBLIC_URL", "chat.example", "such as https://example.com"),
        ("PUBLIC_URL", "https://user@chat.example", "such as https://example.com"),
        ("JWT_SECRET", "x" * 31, "at least 32 bytes"),
        ("JWKS_URL", "http://example.com/keys", "takes an https:// address"),
        ("JWKS_URL", "https://[", "takes an https:// address"),
        ("ALLOWED_ORIGINS", "example.com", "such as https://www.example.com"),
        ("ALLOWED_ORIGINS", "https://a.example, *", "not '*'"),
        ("ALLOWED_ORIGINS", "https://a.example/path", "such as https://www.example.com"),
        ("ALLOWED_ORIGINS", "https://A.example", "such as https://www.example.com"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(variable: str, text: str, complaint: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings({f"GREENROOM_{variable}": text})
    assert f"GREENROOM_{variable}" in str(refused.value)
    assert complaint in str(refused.value)
    assert len(str(refused.value)) < 300


def test_the_payment_provider_is_named_or_follows_from_the_gateway() -> None:
    stripe = {
        "GREENROOM_PAYMENTS": "stripe",
        "GREENROOM_STRIPE_API_KEY": STRIPE_KEY,
        "GREENROOM_STRIPE_WEBHOOK_SECRET": STRIPE_WEBHOOK,
    }
    gateway = {"GREENROOM_PAYMENTS_URL": "https://pay.example"}
    for environ, provider in (({}, "sandbox"), (gateway, "gateway"), (stripe, "stripe")):
        assert load_settings(environ).payment_provider == provider
    shown = f"{load_settings(stripe)!r} {describe(stripe)}"
    assert STRIPE_KEY not in shown
    assert STRIPE_WEBHOOK not in shown


def test_a_wrong_address_of_the_gateway_is_refused_without_its_password() -> None:
    for name in ("GREENROOM_PAYMENTS_URL", "GREENROOM_PUBLIC_URL"):
        with pytest.raises(SettingsError, match=name) as refused:
            load_settings({name: "https://shop:hunter2@pay.example"})
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "hunter2",
        "mysql://u:hunter2@db/greenroom",
        "postgresql:u:hunter2@db/greenroom",
        "postgresql://u:hunter2[@db/greenroom",
        "postgresql://u:hunter2/@db/greenroom",
        "postgresql://u:hunter2#@db/greenroom",
        "postgresql://u:1?hunter2@db/greenroom",
        "postgresql://u:hunter2@db:port/greenroom",
    ],
)
def test_a_wrong_database_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError, match="postgresql://user:password@host") as refused:
        load_settings({"GREENROOM_DATABASE_URL": url})
    assert "hunter2" not in str(refused.value)


def test_secrets_are_neither_described_nor_printed() -> None:
    environ = {
        "GREENROOM_DATABASE_URL": DATABASE_URL,
        "GREENROOM_JWT_SECRET": SECRET,
        "GREENROOM_PAYMENTS_SECRET": SECRET,
    }
    for shown in (repr(load_settings(environ)), str(describe(environ))):
        assert "hunter2" not in shown
        assert SECRET not in shown


def test_the_description_shows_values_in_effect() -> None:
    environ = {"GREENROOM_PORT": "9000", "GREENROOM_HOST": "", "GREENROOM_LIMIT_PAGE": "5"}
    rows = {row["name"]: row["value"] for row in describe(environ)}
    assert rows["GREENROOM_PORT"] == "9000"
    assert rows["GREENROOM_HOST"] == "127.0.0.1"
    assert rows["GREENROOM_JWT_SECRET"] == ""
    assert rows["GREENROOM_LIMIT_PAGE"] == "5"
    assert rows["GREENROOM_LIMIT_SEND_BATCH"] == str(Limits().send_batch)
    assert len(rows) == len(SETTINGS) + len(fields(Limits))
