"""Who made a model folder: a signature of its manifest, by OpenSSH and the key that one has already.

MANIFEST.json names every file with its SHA-256, so whoever signs it signs them all.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dragoman.durable import MANIFEST
from dragoman.errors import MissingExtra, ModelError, UsageError

SIGNATURE = f"{MANIFEST}.sig"
NAMESPACE = "dragoman"  # a signature for something else is none for a model
SIGNER = "signer"
KINDS = ("ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-")  # how a public key begins
SECONDS = 120  # someone may have to type a passphrase, or touch a token


def sign(folder: Path, key: Path) -> Path:
    """Signs the manifest as it is: what it says should have been verified before."""
    if not key.is_file():
        raise UsageError(
            "There is no such key.",
            where=str(key),
            expected="a private key of OpenSSH",
            hint="ssh-keygen -t ed25519 -f KEY makes one, and KEY.pub beside it.",
        )
    done = _ssh_keygen("sign", ["-f", str(key), "-n", NAMESPACE], (folder / MANIFEST).read_bytes())
    if done.returncode:
        raise UsageError(
            f"The key cannot sign: {_words(done)}",
            where=str(key),
            expected="a private key of OpenSSH, and its passphrase",
            hint="ssh-keygen -y -f KEY says whether the key can be read.",
        )
    (folder / SIGNATURE).write_bytes(done.stdout)
    return folder / SIGNATURE


def verify_signature(folder: Path, keys: Path) -> str:
    """Who signed, in the words of OpenSSH; a ModelError where it was none of `keys`.

    `keys` is a public key, or a file of allowed signers (`man ssh-keygen`).
    """
    if not (folder / SIGNATURE).is_file():
        raise ModelError(
            "This model is not signed.",
            where=str(folder / SIGNATURE),
            expected="a signature of its manifest",
            hint="Ask whoever made it: dragoman check MODEL --sign KEY",
        )
    manifest = (folder / MANIFEST).read_bytes()
    with tempfile.TemporaryDirectory() as home:
        allowed = Path(home, "allowed_signers")
        allowed.write_text(_allowed(keys), encoding="utf-8")
        options = ["-f", str(allowed), "-s", str(folder / SIGNATURE)]
        found = _ssh_keygen("find-principals", options, b"")
        names = found.stdout.decode(errors="replace").split("\n")[0].split(",")
        done = _ssh_keygen("verify", [*options, "-I", names[0] or SIGNER, "-n", NAMESPACE], manifest)
    if found.returncode or done.returncode:
        raise ModelError(
            f"The signature is not good: {_words(found if found.returncode else done)}",
            where=str(folder / SIGNATURE),
            expected=f"one of {keys}, of this very manifest",
            hint="Do not use it before you know why. A model that was changed must be signed anew.",
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


def _ssh_keygen(action: str, options: Sequence[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", action, *options],
            input=given,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise MissingExtra(
            "Signatures are made and read by OpenSSH, which is not installed.",
            where="ssh-keygen",
            hint="Install OpenSSH 8.2 or newer: apt install openssh-client",
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"ssh-keygen did not answer within {SECONDS} seconds.",
            where="ssh-keygen",
            hint="Is a passphrase or a security key awaited?",
        ) from None


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr or done.stdout).decode(errors="replace").strip().split("\n")
    return (said[-1] or "it gives no reason").rstrip(".") + "."
