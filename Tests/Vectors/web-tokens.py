#!/usr/bin/env python3
"""Writes web-tokens.json: JSON Web Tokens (RFC 7519) in the shapes of well-known identity providers, and forged ones.

They are signed by the package `cryptography` of Python with new keys, whose private halves are thrown away.
"""
import base64
import hashlib
import hmac
import json
import pathlib

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NOW = 1_800_000_000
ISSUER = "https://login.example/realms/notes"
AUDIENCE = "tandem"


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
other_rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ec_key = ec.generate_private_key(ec.SECP256R1())
ed_key = ed25519.Ed25519PrivateKey.generate()
secret = hashlib.sha256(b"a secret of a test").digest()


def rsa_jwk(key, kid):
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": number(numbers.n), "e": number(numbers.e),
            "x5c": ["MIIC"], "x5t": "abc", "x5u": "http://127.0.0.1:1/never"}


def fixed(value: int) -> str:
    return b64(value.to_bytes(32, "big"))


ec_numbers = ec_key.public_key().public_numbers()
ed_public = ed_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
KEYS = {"keys": [
    rsa_jwk(rsa_key, "rsa-1"),
    {"kty": "EC", "crv": "P-256", "kid": "ec-1", "x": fixed(ec_numbers.x), "y": fixed(ec_numbers.y)},
    {"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": "ed-1", "x": b64(ed_public)},
    {"kty": "oct", "kid": "hs-1", "alg": "HS256", "k": b64(secret)},
    # What Keycloak lists beside: a key that encrypts, and kinds of keys that nobody here uses.
    dict(rsa_jwk(other_rsa, "enc-1"), use="enc", alg="RSA-OAEP"),
    {"kty": "EC", "crv": "P-521", "kid": "ec-2", "x": "AA", "y": "AA"},
    {"kty": "future", "kid": "future-1"},
]}


def rs256(data, key=rsa_key):
    return key.sign(data, padding.PKCS1v15(), hashes.SHA256())


def es256(data):
    r, s = utils.decode_dss_signature(ec_key.sign(data, ec.ECDSA(hashes.SHA256())))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def hs256(data, key=secret):
    return hmac.new(key, data, hashlib.sha256).digest()


SIGNERS = {"RS256": (rs256, "rsa-1"), "ES256": (es256, "ec-1"), "EdDSA": (ed_key.sign, "ed-1"), "HS256": (hs256, "hs-1")}
CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": NOW + 300, "iat": NOW - 5,
          "tandem": {"read": "shared-*", "write": ["notes-alice", "lists-alice-*"]}}


def token(claims=None, algorithm="RS256", header=None, sign=None, without=()):
    signer, kid = SIGNERS.get(algorithm, (None, None))
    fields = {"alg": algorithm, "typ": "JWT", "kid": kid} | (header or {})
    content = {k: v for k, v in (CLAIMS | (claims or {})).items() if k not in without}
    parts = [b64(json.dumps({k: v for k, v in fields.items() if v is not None}).encode()),
             b64(json.dumps(content).encode())]
    data = ".".join(parts).encode()
    return ".".join(parts + [b64((sign or signer)(data))])


good = token()
head, payload, signature = good.split(".")
public_pem = rsa_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

ACCEPTED = {
    "RS256": token(), "ES256": token(algorithm="ES256"), "EdDSA": token(algorithm="EdDSA"), "HS256": token(algorithm="HS256"),
    "without kid": token(header={"kid": None}),
    "aud as an array": token({"aud": ["account", AUDIENCE]}),
    "exp with a fraction": token({"exp": NOW + 0.5}),
    "expired within the tolerated difference": token({"exp": NOW - 59}),
    "nbf within the tolerated difference": token({"nbf": NOW + 60}),
    "Keycloak": token({"jti": "b6e3", "typ": "Bearer", "azp": "app", "sid": "1f", "acr": "1", "aud": [AUDIENCE, "account"],
                       "sub": "f5b2a0c4-1f57-4d5f-8f0a-c4f9a3f2c1aa", "allowed-origins": ["*"],
                       "realm_access": {"roles": ["offline_access", "uma_authorization"]},
                       "resource_access": {"account": {"roles": ["view-profile"]}}, "scope": "openid email profile",
                       "email_verified": True, "preferred_username": "alice"}),
    "Auth0": token({"sub": "auth0|5f7c8ec7c33c6c004bbafe82", "aud": [AUDIENCE, ISSUER + "/userinfo"], "azp": "Xyz",
                    "scope": "openid profile", "gty": "password", "permissions": []}, header={"typ": "at+jwt"}),
    "Supabase": token({"sub": "8a9e6d0e-5a0b-4a55-9f7c-7c1d9f6f3c55", "role": "authenticated", "aal": "aal1",
                       "email": "a@example.org", "phone": "", "session_id": "11", "is_anonymous": False,
                       "app_metadata": {"provider": "email", "providers": ["email"]}, "user_metadata": {},
                       "amr": [{"method": "password", "timestamp": NOW - 60}]}, algorithm="ES256"),
    "Supabase, with a shared secret": token({"role": "authenticated"}, algorithm="HS256"),
    "without rights": token(without=["tandem"]),
}
REFUSED = {
    "none": token(algorithm="none", header={"kid": None}, sign=lambda d: b""),
    "none with a signature": token(algorithm="none", sign=lambda d: b"x"),
    "None": token(algorithm="None", sign=rs256),
    "without algorithm": token(algorithm=None, sign=rs256),
    "RS384 by name": token(algorithm="RS384", header={"kid": "rsa-1"}, sign=rs256),
    "HS256 with the public RSA key": token(algorithm="HS256", header={"kid": "rsa-1"}, sign=lambda d: hs256(d, public_pem)),
    "HS256 with the modulus": token(algorithm="HS256", header={"kid": "rsa-1"},
                                    sign=lambda d: hs256(d, rsa_key.public_key().public_numbers().n.to_bytes(256, "big"))),
    "another RSA key": token(sign=lambda d: rs256(d, other_rsa)),
    "the key that encrypts": token(header={"kid": "enc-1"}, sign=lambda d: rs256(d, other_rsa)),
    "its own key in the header": token(header={"kid": None, "jwk": rsa_jwk(other_rsa, "rsa-1")}, sign=lambda d: rs256(d, other_rsa)),
    "its own address of keys": token(header={"kid": "new", "jku": "http://127.0.0.1:1/keys"}, sign=lambda d: rs256(d, other_rsa)),
    "its own address of a certificate": token(header={"kid": None, "x5u": "http://127.0.0.1:1/c"}, sign=lambda d: rs256(d, other_rsa)),
    "kid that is a path": token(header={"kid": "../../../../dev/null"}, algorithm="HS256", sign=lambda d: hs256(d, b"")),
    "kid that is SQL": token(header={"kid": "' UNION SELECT 'x"}, algorithm="HS256", sign=lambda d: hs256(d, b"x")),
    "kid that is a number": token(header={"kid": 1}),
    "kid that is an array": token(header={"kid": ["rsa-1"]}),
    "critical header": token(header={"crit": ["b64"], "b64": False}),
    "compressed": token(header={"zip": "DEF"}),
    "other claims under the signature": ".".join([head, b64(json.dumps(CLAIMS | {"sub": "bob"}).encode()), signature]),
    "signature cut": good[:-4],
    "signature empty": head + "." + payload + ".",
    "two parts": head + "." + payload,
    "four parts": good + ".x",
    "five parts": good + ".x.y",
    "padding": good + "=",
    "standard alphabet": good + "+",
    "a zero byte": head + "." + payload + "." + signature + "\0",
    "JSON form": json.dumps({"protected": head, "payload": payload, "signature": signature}),
    "ES256 in DER": token(algorithm="ES256", sign=lambda d: ec_key.sign(d, ec.ECDSA(hashes.SHA256()))),
    "ES256 of zeros": token(algorithm="ES256", sign=lambda d: bytes(64)),
    "expired": token({"exp": NOW - 61}),
    "without exp": token(without=["exp"]),
    "exp as a text": token({"exp": str(NOW + 300)}),
    "exp null": token({"exp": None}),
    "not yet valid": token({"nbf": NOW + 61}),
    "nbf as a text": token({"nbf": "0"}),
    "another issuer": token({"iss": ISSUER + "/"}),
    "without issuer": token(without=["iss"]),
    "another audience": token({"aud": "other"}),
    "audiences without this one": token({"aud": ["account", "tandem2"]}),
    "audience in an object": token({"aud": {"tandem": 1}}),
    "without audience": token(without=["aud"]),
    "without sub": token(without=["sub"]),
    "sub empty": token({"sub": ""}),
    "sub with a line break": token({"sub": "a\nb"}),
    "sub as a number": token({"sub": 7}),
    "rights that are no spaces": token({"tandem": {"write": ["../x"]}}),
    "rights that are numbers": token({"tandem": {"write": [1]}}),
    "rights in a text": token({"tandem": '{"write":["notes"]}'}),
    "rights in an array": token({"tandem": ["notes"]}),
    "an unknown right": token({"tandem": {"wirte": ["notes"]}}),
    "sub twice": (lambda p: p + "." + b64(rs256(p.encode())))(
        head + "." + b64(json.dumps(CLAIMS)[:-1].encode() + b', "sub": "bob"}')),
    "claims that are an array": (lambda p: p + "." + b64(rs256(p.encode())))(head + "." + b64(b"[]")),
}

path = pathlib.Path(__file__).with_name("web-tokens.json")
path.write_text(json.dumps({
    "now": NOW, "issuer": ISSUER, "audience": AUDIENCE, "keys": KEYS, "accepted": ACCEPTED, "refused": REFUSED,
}, indent=1) + "\n")
