"""Signatures of model folders, made with OpenSSH keys.

MANIFEST.json lists every file with its SHA-256, so a signature of it covers all files. An export in the
folder has its own manifest, which is signed separately, so that it can be copied alone and replaced.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from dragoman.errors import MissingExtra, ModelError, UsageError

NAMESPACE = "dragoman"  # signatures for other purposes are not accepted for a model
SIGNER = "signer"
KINDS = ("ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-")  # prefixes of public keys
SECONDS = 120  # the user may have to type a passphrase or touch a token


def signature_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.sig")


def sign(files: Sequence[Path], key: Path) -> list[Path]:
    """Sign manifests and return the signature files; the caller should verify the folders first."""
    if not key.is_file():
        raise UsageError(
            "There is no such key.",
            where=str(key),
            expected="an OpenSSH private key",
            hint="ssh-keygen -t ed25519 -f KEY creates KEY and KEY.pub.",
        )
    with tempfile.TemporaryDirectory() as home:
        links = [Path(home, str(number)) for number in range(len(files))]
        for link, file in zip(links, files, strict=True):
            # ssh-keygen writes next to the signed file, and asks before it overwrites.
            os.symlink(file.absolute(), link)
        done = _ssh_keygen("sign", ["-f", str(key), "-n", NAMESPACE, *map(str, links)])
        if done.returncode:
            raise UsageError(
                f"The key cannot sign: {_words(done)}",
                where=str(key),
                expected="an OpenSSH private key and its passphrase",
                hint="ssh-keygen -y -f KEY shows whether the key can be read.",
            )
        for link, file in zip(links, files, strict=True):
            signature_of(file).write_bytes(signature_of(link).read_bytes())
    return [signature_of(file) for file in files]


def verify_signatures(files: Sequence[Path], keys: Path) -> str:
    """Return OpenSSH's description of the signer; raise ModelError if a file is not signed by one of `keys`.

    `keys` is a public key, or a file of allowed signers (`man ssh-keygen`).
    """
    unsigned = [file for file in files if not signature_of(file).is_file()]
    if unsigned:
        name = "This model" if unsigned[0] == files[0] else f"{unsigned[0].parent.name}/{unsigned[0].name}"
        raise ModelError(
            f"{name} is not signed.",
            where=str(signature_of(unsigned[0])),
            expected="a signature of the model and of each export",
            hint="Ask its author to sign it: dragoman check MODEL --sign KEY",
        )
    with tempfile.TemporaryDirectory() as home:
        allowed = Path(home, "allowed_signers")
        allowed.write_text(_allowed(keys), encoding="utf-8")
        return " · ".join(dict.fromkeys(_verified(file, allowed, keys) for file in files))


def _verified(file: Path, allowed: Path, keys: Path) -> str:
    options = ["-f", str(allowed), "-s", str(signature_of(file))]
    found = _ssh_keygen("find-principals", options)
    names = found.stdout.decode(errors="replace").split("\n")[0].split(",")
    with file.open("rb") as signed:
        done = _ssh_keygen("verify", [*options, "-I", names[0] or SIGNER, "-n", NAMESPACE], signed)
    if found.returncode or done.returncode:
        raise ModelError(
            f"The signature is not valid: {_words(found if found.returncode else done)}",
            where=str(signature_of(file)),
            expected=f"a signature by a key in {keys}, of this {file.name}",
            hint="Do not use the model before you know why. A changed model must be signed again.",
        )
    return done.stdout.decode(errors="replace").strip()


def _allowed(keys: Path) -> str:
    try:
        text = keys.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(
            "The key cannot be read.",
            where=str(keys),
            expected="a public key (KEY.pub), or a file of allowed signers",
            hint="dragoman check MODEL --signed-by KEY.pub",
        ) from None
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")]
    known = (
        f'{SIGNER} namespaces="{NAMESPACE}" {line}' if line.startswith(KINDS) else line for line in lines
    )
    return "".join(f"{line}\n" for line in known)


def _ssh_keygen(
    action: str, options: Sequence[str], given: IO[bytes] | int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", action, *options],
            stdin=given,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise MissingExtra(
            "Signatures need OpenSSH, which is not installed.",
            where="ssh-keygen",
            hint="Install OpenSSH 8.2 or newer: apt install openssh-client",
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"ssh-keygen did not answer within {SECONDS} seconds.",
            where="ssh-keygen",
            hint="It may be waiting for a passphrase or a security key.",
        ) from None


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr or done.stdout).decode(errors="replace").strip().split("\n")
    return (said[-1] or "no reason given").rstrip(".") + "."
