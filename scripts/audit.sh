#!/bin/sh
# Ask whether the versions that the checks run with have known weaknesses. Where nobody can be asked, say so and go on.
set -eu
python=$1
venv=$2
requirements=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() {
  echo "Not audited, $1"
  exit 0
}
# Ask about a file of requirements; the answer is in a file of JSON, which is missing when there is none.
ask() {
  "$venv/bin/pip-audit" --disable-pip --no-deps --progress-spinner off --timeout 15 --format json --output "$2" \
    --requirement "$1" >/dev/null 2>&1 || true
  [ -s "$2" ]
}
if [ ! -x "$venv/bin/pip-audit" ]; then
  { "$python" -m venv "$venv" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 \
    pip-audit==2.10.1; } >/dev/null 2>&1 || skip "because pip-audit cannot be installed from here"
fi
# A version whose weakness everybody knows: who does not tell of it, as many a mirror, tells of no other either.
echo "urllib3==1.26.4" >"$work/known.txt"
ask "$work/known.txt" "$work/known.json" || skip "because the list of weaknesses is out of reach"
grep -q '"fix_versions"' "$work/known.json" || skip "because the package index at hand tells of no weaknesses"
ask "$requirements" "$work/report.json" || skip "because the list of weaknesses is out of reach"
"$python" - "$work/report.json" <<'SUMMARY'
import json, sys
found = json.load(open(sys.argv[1], encoding="utf-8"))["dependencies"]
weak = [one for one in found if one.get("vulns")]
for one in weak:
    fixes = sorted({version for weakness in one["vulns"] for version in weakness["fix_versions"]})
    names = ", ".join(weakness["id"] for weakness in one["vulns"])
    print(f"{one['name']} {one['version']}: {names}; mended in {', '.join(fixes) or 'no release yet'}")
print(f"Audited {len(found)} packages, {len(weak)} of them with known weaknesses")
sys.exit(bool(weak))
SUMMARY
