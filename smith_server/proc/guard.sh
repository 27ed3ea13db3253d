# Ends the process groups of a server that is gone. Started as: sh -c TEXT smith-guard MARK
# stdin: lines "+ GROUP" and "- GROUP"; its end means that the server is dead, however it died.

trap '' HUP INT QUIT TERM
mark=$1
groups=' '

while read -r what group; do
  case $what in
    +) groups="$groups$group " ;;
    -) case $groups in
         *" $group "*) groups="${groups%%" $group "*} ${groups#*" $group "}" ;;
       esac ;;
  esac
done

# Descendants that left their group are known by their environment, where the system shows it.
marked() {
  for file in $(grep -lsF "$mark" /proc/[0-9]*/environ 2>/dev/null); do
    file=${file#/proc/}
    echo "${file%/environ}"
  done
}

alive() {
  for group in $groups; do
    kill -s 0 -- "-$group" 2>/dev/null && return 0
  done
  [ -n "$(marked)" ]
}

send() {
  for group in $groups; do
    kill -s "$1" -- "-$group" 2>/dev/null
  done
  for pid in $(marked); do
    kill -s "$1" -- "$pid" 2>/dev/null
  done
}

# Counts tenths of a second, also where sleep knows whole seconds only.
pause() {
  if sleep 0.1 2>/dev/null; then tenths=$((tenths + 1)); else sleep 1; tenths=$((tenths + 10)); fi
}

alive || exit 0
send TERM
send CONT
tenths=0
while [ "$tenths" -lt 5 ] && alive; do pause; done

# A group dies of one KILL, and what is left of it is waited for by nobody. What has left its group
# may have had a child meanwhile.
alive || exit 0
send KILL
groups=' '
tenths=0
while [ "$tenths" -lt 20 ] && alive; do send KILL; pause; done
