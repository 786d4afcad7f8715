import { Argument, type Command } from 'commander'

/** The command that completion scripts call; all others are completed by it. */
export const COMPLETE = '_complete'

/**
 * Adds `shoal completion bash|zsh|fish`, which prints a script that calls this program for
 * completions.
 */
export const addCompletion = (program: Command): void => {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which one').choices(Object.keys(completionScripts)))
    .description('print a script that completes commands, flags and ids with the tab key')
    .addHelpText('after', HELP)
    .action(
      (shell: keyof typeof completionScripts) =>
        void process.stdout.write(completionScripts[shell]),
    )
}

const HELP = `
  bash  in ~/.bashrc: source <(shoal completion bash)
  zsh   in ~/.zshrc, after compinit: source <(shoal completion zsh)
  fish  shoal completion fish > ~/.config/fish/completions/shoal.fish`

/*
 * What was typed travels in the environment and not among the arguments, which everybody on the
 * machine can read: there may be a key in it. Each candidate is a line, its description after a tab;
 * a last line `:files` asks for names of files. bash splits words at : and = (COMP_WORDBREAKS), so
 * it gets the whole line and of each candidate only what follows.
 */
const bash = `# shoal completion bash
_shoal() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o filenames 2>/dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done \\
          < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}") ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <(SHOAL_COMPLETE_LINE="\${COMP_LINE:0:COMP_POINT}" \\
    SHOAL_COMPLETE_BREAKS="$COMP_WORDBREAKS" "\${COMP_WORDS[0]}" ${COMPLETE} 2>/dev/null)
}
complete -F _shoal shoal
`

const zsh = `#compdef shoal
_shoal() {
  local line word about tab=$'\\t' files=0
  local -a candidates
  while IFS= read -r line; do
    if [[ $line == :files ]]; then files=1; continue; fi
    word=\${line%%$tab*}
    about=\${line#$word}
    candidates+=("\${word//:/\\\\:}\${about/#$tab/:}")
  done < <(SHOAL_COMPLETE_WORDS="\${(pj:\\n:)words[1,CURRENT-1]}" \\
    SHOAL_COMPLETE_CURRENT="\${words[CURRENT]}" "\${words[1]}" ${COMPLETE} 2>/dev/null)
  if (( \${#candidates} )); then _describe shoal candidates; fi
  if (( files )); then _files; fi
}
if [[ \${funcstack[1]} == _shoal ]]; then _shoal "$@"; else compdef _shoal shoal; fi
`

const fish = `# shoal completion fish
function __shoal_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -lx SHOAL_COMPLETE_WORDS (string join \\n -- $typed | string collect)
  set -lx SHOAL_COMPLETE_CURRENT "$current"
  for line in ($typed[1] ${COMPLETE} 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path "$current"
    else
      printf '%s\\n' $line
    end
  end
end
complete -c shoal -f -a '(__shoal_complete)'
`

/** Scripts by shell; packages ship them too. */
export const completionScripts = { bash, zsh, fish }
