"""Values go by their names, by their place, and by the sentence, table, command or form they stand in."""

from __future__ import annotations

import json

import pytest
from support.made_up_secrets import HEX, RANDOM, event

from claude_mem_lite.redaction.events import redact, scrub

PW, PHRASE = "Harbor!Honey8481", "barrel-rabbit-whale-27"


BASE32 = "JBSW" + "Y3DP" + "EHPK" + "3PXP"
WORDS = "acid banana cactus dragon eager fabric galaxy hammer icon jacket kitten ladder"
SALT = "q:Vx2{f" + "}<W$ M7*k|n" + "Z 9+tR(e8Lw&u" + "J3=pY~s5dC@0aH^6gT;bF#1oX/iK%4vQ"
WEAK = "spring-otter"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AWS_SECRET_ACCESS_KEY={}", "AWS_SECRET_ACCESS_KEY=[redacted: secret]"),
        ("export DB_PASSWORD='{}'", "export DB_PASSWORD='[redacted: password]'"),
        ("SMTP_PASS={} make", "SMTP_PASS=[redacted: password] make"),
        ('{{"client_secret": "{}"}}', '{{"client_secret": "[redacted: secret]"}}'),
        ("{{'apiKey': '{}'}}", "{{'apiKey': '[redacted: key]'}}"),
        ("x-api-key: {}", "x-api-key: [redacted: key]"),
        ("token = b'{}'", "token = b'[redacted: token]'"),
        ("auth_token: {}", "auth_token: [redacted: token]"),
        ("Server=db;User=sa;Password={};", "Server=db;User=sa;Password=[redacted: password];"),
        ("AccountName=a;AccountKey={}==;", "AccountName=a;AccountKey=[redacted: key];"),
        ("Authorization: Bearer {}", "Authorization: Bearer [redacted: authorization]"),
        ("'Authorization': 'Basic {}'", "'Authorization': 'Basic [redacted: authorization]'"),
        ("postgresql://me:{}@db.example:5432/x", "postgresql://me:[redacted: password]@db.example:5432/x"),
        ("redis://:{}@cache", "redis://:[redacted: password]@cache"),
        ("curl -u admin:{} https://a.example", "curl -u admin:[redacted: password] https://a.example"),
        ("mysql --password {} db", "mysql --password [redacted: password] db"),
        (
            "https://hooks.slack.com/services/T0/B0/{}",
            "https://hooks.slack.com/[redacted: slack webhook]",
        ),
        ("https://b.example/x?sig={0}{0:.11}%3D", "https://b.example/x?sig=[redacted: azure signature]"),
    ],
)
def test_a_value_goes_by_its_name(text: str, expected: str) -> None:
    """The value of what is called a secret goes; the name, the quotes and the host stay."""
    assert redact(text.format(RANDOM[:32])) == expected.format()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://discord.com/api/webhooks/123456789012345678/{0}{0}", "[redacted: discord webhook]"),
        ("https://api.telegram.org/bot1234567890:AA{0:.33}/x", "[redacted: telegram token]"),
        ("login('MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.{0:.38}')", "[redacted: discord token]"),
        ("key=AAAA1234567:APA91b{0}{0}{0}", "[redacted: "),
        ("Authorization: SSWS 00{0:.40}", "[redacted: authorization]"),
        (
            "Cookie: theme=dark; sid={0:.32}; lang=en",
            "theme=dark; sid=[redacted: cookie]; lang=en",
        ),
        ("curl -b 'connect.sid={0:.32}' https://a.example", "connect.sid=[redacted: cookie]'"),
        ("machine a.example login me password {0:.12}", "password [redacted: password]"),
        ("db:5432:shop:app:{0:.12}", "db:5432:shop:app:[redacted: password]"),
        ("curl -u admin:'{0:.12}' https://a.example", "admin:'[redacted: password]'"),
        ("mysql --password={0:.12} shop", "--password=[redacted: password] shop"),
        ("mysqldump -u root -p{0:.12} shop", "-p[redacted: password] shop"),
        ("docker login -u me -p '{0:.12}'", "-p '[redacted: password]'"),
        ("echo '{0:.12}' | sudo -S ls", "echo '[redacted: password]' | sudo"),
        ("src/app.py:12:api_key: '{0:.32}',", "api_key: '[redacted: key]'"),
        (
            "'Authorization: Basic YWRtaW46Q2FzdGxlMDE1OSE='",
            "'Authorization: Basic [redacted: authorization]'",
        ),
        ('conn.setPassword("{0:.12}")', 'setPassword("[redacted: password]")'),
    ],
)
def test_a_value_goes_by_its_place(text: str, expected: str) -> None:
    """What opens a login goes from addresses, cookies, options of commands and files of logins."""
    kept = redact(text.format(RANDOM))

    assert expected in kept
    assert RANDOM[:12] not in kept


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer {}", "curl -u me@shop.example:{} https://a.example", "db:5432:shop:app:{}",
        "docker login -u me -p {} r.example", "sshpass -p {} ssh h", "redis-cli -a {} ping", "TOKEN={}",
        "Authorization: Basic {}==", "token: {}", '"token": "{}"', "echo {} | docker login --password-stdin",
    ],
)  # fmt: skip
def test_a_long_credential_goes_whole(text: str) -> None:
    """However long a value is, nothing of its end is left."""
    kept = redact(text.format(4 * RANDOM))

    assert "[redacted: " in kept
    assert RANDOM[-8:] not in kept


@pytest.mark.parametrize(
    "text",
    [
        'DB_PASSWORD = "aB3<dE5fG7hJ9"', 'password: "aB3{{dE5fG7hJ9"', "password: aB3&dE5fG7hJ9",
        "password: aB3,dE5fG7hJ9", '{{"name": "DB_PASSWORD", "value": "aB3dE5fG7hJ9"}}',
        "- name: DB_PASSWORD\n  value: aB3dE5fG7hJ9",
        'variable "db_password" {{\n  default = "aB3dE5fG7hJ9"\n}}',
        '<add key="Password" value="aB3dE5fG7hJ9" />', "<key>ApiKey</key><string>aB3dE5fG7hJ9kL1mN3</string>",
        "password = process.env.PW || 'aB3dE5fG7hJ9';", "password = os.environ.get('PW', 'aB3dE5fG7hJ9')",
        "password: |\n    aB3dE5fG7hJ9", "password | aB3dE5fG7hJ9", "IDENTIFIED BY 'aB3dE5fG7hJ9'",
        "DB_PW=aB3dE5fG7hJ9", "bindpw aB3dE5fG7hJ9", "Ocp-Apim-Subscription-Key: aB3dE5fG7hJ9kL1mN3",
        "echo root:aB3dE5fG7hJ9 | chpasswd", "ldapsearch -w aB3dE5fG7hJ9",
        "PASSWORDS = {{'me': 'aB3dE5fG7hJ9'}}",
        '"SecretString": "aB3dE5fG7hJ9"', "keytool -storepass aB3dE5fG7hJ9", "_auth=YUIzZEU1Zkc3aEo5",
    ],
)  # fmt: skip
def test_a_password_goes_by_what_stands_beside_it(text: str) -> None:
    """Brackets in quotes, pairs, fallbacks, blocks and options hide no password; in JSON in JSON neither."""
    text = text.format()
    for shown in (text, json.dumps({"body": text}), json.dumps(json.dumps({"body": text}))):
        kept = scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response=shown))

        assert "[redacted: " in kept
        assert not any(piece in kept for piece in ("hJ9", "YUIz"))


@pytest.mark.parametrize("secret", [PW, PHRASE, "j4smin3rock3t13", RANDOM[:20]])
@pytest.mark.parametrize(
    "text",
    [
        "the password for the staging db is {}, user is bob", "set the admin password to {} and restart",
        "A temporary password is generated for root@localhost: {}", 'the root password is "{}"',
        "password is `{}`, don't commit it", "ssh to a.example as bob, password {}", "**Password:** `{}`",
        "Password for the elastic user (reset with `bin/reset`):\n  {}", "Password ......: {}",
        "Das Passwort lautet: {}", "Passwort auf {} geändert", "le mot de passe est {}",
        "la contraseña es {}",
        "пароль от базы: {}", "密码是 {}", "パスワードは {} です", "wachtwoord: {}", "credentials: bob / {}",
        "creds for the VPN are bob:{}", "use bob / {} to log in",
        " id | password\n----+---------\n  1 | {}\n(1 row)", "| User | Password |\n|---|---|\n| bob | {} |",
        "| smtp_password | {} |", "username,password,role\nbob,{},admin", "name\tpassword\nbob\t{}",
        "USER    PASSWORD     HOST\nbob     {}    a.example", "<tr><td>Password</td><td>{}</td></tr>",
        "INSERT INTO users (name, password) VALUES ('bob', '{}');", "{{user=bob, password={}}}",
        "&{{Host:h User:bob Password:{} Port:5432}}", "--from-literal=password={} -n prod",
        '#define WIFI_PASSWORD "{}"', 'password <- "{}"', "define('DB_PASSWORD', '{}');",
        "new PDO('mysql:host=h;dbname=d', 'bob', '{}');", 'getConnection(url, "bob", "{}");',
        "process.env.DB_PASSWORD || '{}'", 'HTTPBasicAuth("bob", "{}")', 'dsn := "bob:{}@tcp(h:3306)/d"',
        "sshpass -p'{}' ssh h", "htpasswd -bc f bob {}", "openssl enc -k '{}'",
        "net use Z: \\\\h\\s /user:bob {}",
        "rabbitmqctl add_user bob {}", "poetry config http-basic.x bob {}", 'ssid="o"\n    psk="{}"',
        "chpasswd:\n  list: |\n    bob:{}\n",
    ],
)  # fmt: skip
def test_a_password_goes_from_sentences_tables_and_calls(text: str, secret: str) -> None:
    """What people choose and what is made at random goes, by the way of hooks and by itself."""
    text = text.format(secret)
    kept = scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response={"stdout": text}))

    assert secret not in kept
    assert secret not in redact(text)
    assert "[redacted: " in kept


@pytest.mark.parametrize(
    "text",
    [
        "Secret key: {}", "api key: {} - please add it", "Access Token (expires 2027): {}",
        "use the token {} now",
        "The webhook secret is `{}`", "name\tapi_token\nbob\t{}", "npm config set //r.example/:_authToken {}",
        "gh secret set N --body '{}'", "cargo login {}", "sonar-scanner -Dsonar.login={} -X",
        "wss://h/v1?auth={}",
        'hmacKey := []byte("{}")', "secret_key={}", '{{"name":"sid","value":"{}","httpOnly":true}}',
        "client.cookies.set('sessionid', '{}')",
        "# Netscape HTTP Cookie File\n.h\tTRUE\t/\tTRUE\t17\tsid\t{}",
        'proxy_set_header Authorization "Bearer {}";',
    ],
)  # fmt: skip
def test_a_random_value_goes_from_labels_and_commands(text: str) -> None:
    """Labels of two words, sentences, commands and cookies give a random value away."""
    text = text.format(RANDOM[:40])
    kept = scrub(event(tool_name="Bash", tool_input={"command": text}))

    assert RANDOM[:40] not in kept
    assert RANDOM[:40] not in redact(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=Crystal1981.f9D", "f9D"), ("password=Plum1998=65O", "65O"), ("Pwd=Lemon.Hazel6413;",
        "Hazel"),
        ("vpn_secret: Harbor!Honey8481", "Honey"), ("secret_key=8YI7_lK3Uh&T6e7ZwaeeM0MKe7X", "T6e7"),
        ("<password>Fennel2011=PAS</password>", "PAS"),
    ],
)  # fmt: skip
def test_a_value_with_signs_goes_whole(text: str, left: str) -> None:
    """Points, equals signs and others in a bare value neither save it nor part it."""
    assert left not in redact(text)


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
    kept = redact(text)

    assert secret not in kept
    assert kept.split("[redacted: ")[0] in text
    assert "[redacted: " in kept
