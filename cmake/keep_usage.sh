#!/bin/sh
# keep_usage.sh OBJECT COMMAND...: compiles a .cu file and keeps what ptxas says of its kernels (-Xptxas=-v) in
# OBJECT.usage, for scripts/kernel_report.sh. The compiler's other messages pass through.
object=$1
shift
code=0
"$@" 2>"$object.messages" || code=$?
kernels='^ptxas info|bytes stack frame'
grep -vE "$kernels" "$object.messages" >&2
if [ "$code" -eq 0 ]; then grep -E "$kernels" "$object.messages" >"$object.usage"; fi
rm -f "$object.messages"
exit "$code"
