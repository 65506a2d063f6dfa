#!/bin/sh
# run_as_documented.sh PAGE COMMAND...: runs COMMAND and fails unless each line that it prints stands in PAGE, indented by four.
page=$1
shift
output=$("$@") || { code=$?; echo "$output"; exit $code; }
echo "$output"
echo "$output" | while IFS= read -r line; do
  grep -Fqx -- "    $line" "$page" || { echo "$page does not hold this line: $line"; exit 1; }
done
