import type { Command, Option } from 'commander'
import {
  type CompletionCandidate,
  formatCandidate,
  listFixedValues,
  placeholderOf,
} from '../../clients/cli/candidates.ts'
import { bashScript, fishScript, zshScript } from '../../clients/cli/completion.ts'
import { visibleCommands } from '../manual/command-pages.ts'
import type { ServiceProgram } from './service-programs.ts'

/*
 * Completion of a service carries all of its words, so that the tab key starts no program: the
 * services are usually run by root.
 */

/** Words of a program. */
interface WordTable {
  /** The program and its commands: `shoald`, `shoald join`. */
  paths: string[]
  /** Flags without a value. */
  switches: string[]
  /**
   * Candidates after their key and a tab. Keys are `PATH` for commands and arguments (`PATH *` after
   * an argument), `PATH -` for flags, and `PATH --flag` for the values of a flag.
   */
  rows: string[]
}

export const serviceScripts = (service: ServiceProgram) => {
  const table = tabulate(service)
  const name = service.program.name()
  return {
    bash: bashScript({
      name,
      list: `_${name}_candidates "\${COMP_WORDS[@]:1:COMP_CWORD}"`,
      functions: listerInBashAndZsh(name, table),
    }),
    zsh: zshScript({
      name,
      list: `_${name}_candidates "\${(@)words[2,CURRENT]}"`,
      functions: listerInBashAndZsh(name, table),
    }),
    fish: fishScript({
      name,
      list: `__${name}_candidates $typed[2..] "$current"`,
      functions: listerInFish(name, table),
    }),
  }
}

const tabulate = ({ program, alone }: ServiceProgram): WordTable => {
  const table: WordTable = { paths: [], switches: [], rows: [] }
  const add = (key: string, candidates: readonly CompletionCandidate[] = []) =>
    table.rows.push(...candidates.map(each => `${key}\t${formatCandidate(each)}`))
  const addCommand = (command: Command, path: string, own: readonly Option[]): void => {
    table.paths.push(path)
    const commands = visibleCommands(command)
    add(
      path,
      commands.map(each => ({ word: each.name(), about: each.description() })),
    )
    command.registeredArguments.forEach((argument, i) => {
      add(path + ' *'.repeat(i), listFixedValues(argument, argument.name()))
    })
    for (const option of listOptions(command, [...own, ...program.options])) {
      const { long, short, description } = option
      add(`${path} -`, [{ word: long ?? '', about: description }])
      if (option.required) add(`${path} ${long}`, listFixedValues(option, placeholderOf(option)))
      else table.switches.push(...[long, short].filter(each => each !== undefined))
    }
    for (const each of commands) addCommand(each, `${path} ${each.name()}`, [])
  }
  addCommand(program, program.name(), alone)
  return { ...table, switches: [...new Set(table.switches)] }
}

/** Flags of a command; where several have one name, the first. */
const listOptions = (command: Command, more: readonly Option[]): Option[] => {
  const all = [...command.createHelp().visibleOptions(command), ...more]
  return all.filter((option, i) => all.findIndex(({ long }) => long === option.long) === i)
}

/** bash gives `=` as a word of its own. */
const listerInBashAndZsh = (name: string, { paths, switches, rows }: WordTable): string => {
  const quoteAll = (words: readonly string[]) =>
    words.map(word => `\n    '${word.replaceAll("'", "'\\''")}'`).join('')
  return `_${name}_candidates() {
  local row key start at='${name}' flag='' before='' line=$'\\n'
  local paths=$'\\n${paths.join('\\n')}\\n' switches=' ${switches.join(' ')} '
  local -a rows
  rows=(${quoteAll(rows)}
  )
  while (( $# > 1 )); do
    if [[ $1 == = ]]; then :
    elif [[ -n $flag ]]; then flag=
    elif [[ $1 == -*=* || $switches == *" $1 "* ]]; then :
    elif [[ $1 == -* ]]; then flag=$1
    elif [[ $paths == *"$line$at $1$line"* ]]; then at="$at $1"
    else at="$at *"
    fi
    shift
  done
  local current=$1
  if [[ $current == = ]]; then current=; fi
  if [[ $current == --*=* ]]; then
    flag=\${current%%=*}
    before="$flag="
    current=\${current#*=}
  fi
  key=$at
  if [[ -n $flag ]]; then key="\${at%% \\**} $flag"
  elif [[ $current == -* ]]; then key="\${at%% \\**} -"
  fi
  start="$key"$'\\t'
  for row in "\${rows[@]}"; do
    if [[ $row == "$start:files" ]]; then printf ':files\\n'
    elif [[ $row == "$start$current"* ]]; then printf '%s%s\\n' "$before" "\${row#"$start"}"
    fi
  done
}
`
}

const listerInFish = (name: string, { paths, switches, rows }: WordTable): string => {
  const quote = (word: string) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const quoteAll = (words: readonly string[]) => words.map(quote).join(' ')
  return `function __${name}_candidates
  set -l paths ${quoteAll(paths)}
  set -l switches ${quoteAll(switches)}
  set -l rows ${rows.map(row => `\\\n    ${quote(row)}`).join(' ')}
  set -l at ${name}
  set -l flag ''
  set -l before ''
  set -l current $argv[-1]
  for word in $argv[1..-2]
    if test -n "$flag"
      set flag ''
    else if string match -q -- '-*=*' $word; or contains -- $word $switches
    else if string match -q -- '-*' $word
      set flag $word
    else if contains -- "$at $word" $paths
      set at "$at $word"
    else
      set at "$at *"
    end
  end
  if string match -q -- '--*=*' $current
    set flag (string replace -r -- '=.*' '' $current)
    set before "$flag="
  end
  set -l path (string replace -r -- ' \\*.*' '' $at)
  set -l key $at
  if test -n "$flag"
    set key "$path $flag"
  else if string match -q -- '-*' $current
    set key "$path -"
  end
  for line in (string replace -rf -- "^"(string escape --style=regex -- $key)"\\t" '' $rows)
    if test "$line" = :files
      echo :files
    else
      printf '%s%s\\n' "$before" $line
    end
  end
end
`
}
