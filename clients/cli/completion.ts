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

/** A program whose words are completed by a shell. */
interface CompletedProgram {
  name: string
  /** Shell command that prints the candidates. */
  list: string
  /** Shell functions that this command uses. */
  functions?: string
}

/*
 * Each candidate is a line, its description after a tab; a line `:files` asks for names of files.
 * bash splits words at : and = (COMP_WORDBREAKS), and shows no descriptions.
 */
export const bashScript = ({ name, list, functions = '' }: CompletedProgram): string =>
  `# ${name} completion bash
${functions}_${name}() {
  local line current
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o filenames 2>/dev/null
        current=\${COMP_WORDS[COMP_CWORD]}
        if [[ $current == = ]]; then current=; fi
        while IFS= read -r line; do COMPREPLY+=("$line"); done \\
          < <(compgen -f -- "$current") ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(${list} 2>/dev/null)
}
complete -F _${name} ${name}
`

export const zshScript = ({ name, list, functions = '' }: CompletedProgram): string =>
  `#compdef ${name}
${functions}_${name}() {
  local line word about tab=$'\\t' files=0
  local -a candidates
  while IFS= read -r line; do
    if [[ $line == :files ]]; then files=1; continue; fi
    word=\${line%%$tab*}
    about=\${line#$word}
    candidates+=("\${word//:/\\\\:}\${about/#$tab/:}")
  done < <(${list} 2>/dev/null)
  if (( \${#candidates} )); then _describe ${name} candidates; fi
  if (( files )); then compset -P '--*='; _files; fi
}
if [[ \${funcstack[1]} == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi
`

export const fishScript = ({ name, list, functions = '' }: CompletedProgram): string =>
  `# ${name} completion fish
${functions}function __${name}_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  for line in (${list} 2>/dev/null)
    if test "$line" = ":files"
      set -l flag (string match -r -- '^--[\\w-]+=' "$current")
      for path in (__fish_complete_path (string replace -r -- '^--[\\w-]+=' '' "$current"))
        printf '%s%s\\n' "$flag" $path
      end
    else
      printf '%s\\n' $line
    end
  end
end
complete -c ${name} -f -a '(__${name}_complete)'
`

/*
 * What was typed travels in the environment and not among the arguments, which everybody on the
 * machine can read: there may be a key in it.
 */
const name = 'shoal'
const bash = bashScript({
  name,
  list: `SHOAL_COMPLETE_LINE="\${COMP_LINE:0:COMP_POINT}" \\
    SHOAL_COMPLETE_BREAKS="$COMP_WORDBREAKS" "\${COMP_WORDS[0]}" ${COMPLETE}`,
})
const zsh = zshScript({
  name,
  list: `SHOAL_COMPLETE_WORDS="\${(pj:\\n:)words[1,CURRENT-1]}" \\
    SHOAL_COMPLETE_CURRENT="\${words[CURRENT]}" "\${words[1]}" ${COMPLETE}`,
})
const fish = fishScript({
  name,
  list: `SHOAL_COMPLETE_WORDS=(string join \\n -- $typed | string collect) \\
    SHOAL_COMPLETE_CURRENT="$current" $typed[1] ${COMPLETE}`,
})

/** Scripts for `shoal` by shell; packages ship them too. */
export const completionScripts = { bash, zsh, fish }
