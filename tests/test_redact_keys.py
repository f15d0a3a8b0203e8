"""Keys by the form they are written in, and what only looks like such a form."""

from __future__ import annotations

import hashlib

import pytest

from claude_mem_lite import redact

BASE32 = "JBSW" + "Y3DP" + "EHPK" + "3PXP"
HEX = hashlib.sha256(b"claude-mem").hexdigest()
WORDS = "acid banana cactus dragon eager fabric galaxy hammer icon jacket kitten ladder"
SALT = "q:Vx2{f" + "}<W$ M7*k|n" + "Z 9+tR(e8Lw&u" + "J3=pY~s5dC@0aH^6gT;bF#1oX/iK%4vQ"
WEAK = "spring-otter"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"otpauth://totp/Acme:me@a.example?secret={BASE32}&issuer=Acme", BASE32),
        (f"code = pyotp.TOTP('{BASE32}').now()", BASE32),
        (f'ROTP::TOTP.new("{BASE32}")', BASE32),
        (f"oathtool --totp -b {BASE32}", BASE32),
        (f"define( 'AUTH_KEY',         '{SALT}' );", SALT),
        (f"define ( 'DB_PASSWORD' , '{WEAK}' ) ;", WEAK),
        (f'var jwtSecret = []byte("{WEAK}")', WEAK),
        (f"hmacKey := []byte(`{HEX[:40]}`)", HEX[:40]),
        (f"MNEMONIC={WORDS}", WORDS),
        (f'"seedPhrase": "{WORDS}"', WORDS),
        (f"The recovery phrase is: {WORDS}.", WORDS),
        (f"cast send --private-key 0x{HEX} 0xabc", HEX),
        (f"Wallet key: {HEX}", HEX),
        (f'accounts: ["0x{HEX}"]', HEX),
        ("Please login with admin / Otter-Pond9 and look.", "Otter-Pond9"),
        ("You can log in with `demo` and `hunter2`.", "hunter2"),
    ],
)
def test_a_key_goes_by_its_form(text: str, secret: str) -> None:
    """What the form tells to be a key goes, weak or not; what stands around it stays."""
    kept = redact.redact(text)

    assert secret not in kept
    assert kept.split("[redacted: ")[0] in text
    assert "[redacted: " in kept


@pytest.mark.parametrize(
    "text",
    [
        "define('WP_DEBUG', true);",
        "define( 'AUTH_KEY', 'put your unique phrase here' );",
        "define(['jquery', 'underscore'], function ($, _) {})",
        'w.Write([]byte("hello world, how are you"))',
        'tokenPrefix := []byte("Bearer of news")',
        "The phrase is: the quick brown fox jumps over the lazy dog and then sleeps until noon",
        "seed: 42",
        f"tx 0x{HEX} was mined",
        f"{HEX}  wallet-1.2.tar.gz",
        "login with your company account / SSO",
        "You can log in with email and password.",
        "totp = pyotp.TOTP(os.environ['TOTP_SECRET'])",
        "The authenticator app shows six digits.",
    ],
)
def test_what_only_looks_like_a_key_stays(text: str) -> None:
    """Placeholders, code that reads a key, hashes and sentences are left as they are."""
    assert redact.redact(text) == text


@pytest.mark.parametrize(
    "unit", ["mnemonic: ", "seed: word ", "abcde ", "define('a_key', '", "totp(", "[]byte('"]
)
def test_a_hundred_thousand_characters_of_a_form_give_an_answer(unit: str) -> None:
    """No form runs away on what begins it again and again."""
    assert redact.redact(unit * (100_000 // len(unit))) != ""
