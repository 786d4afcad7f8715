import { stringify } from 'yaml'
import { isSecret } from './config-fault.ts'
import { type ConfigKey, environmentName, flagName, getAt } from './config-keys.ts'

/* Texts that `--print-config`, `--help` and `--help-config` print. */

const printDefault = (value: unknown): string =>
  value === undefined ? 'unset' : typeof value === 'object' ? 'see below' : JSON.stringify(value)

/** Effective configuration as YAML; each key has its description, default and other names. */
export const printConfig = (keys: ConfigKey[], config: unknown): string => {
  const lines: string[] = []
  let open: string[] = []
  for (const key of keys) {
    const folders = key.path.slice(0, -1)
    folders.forEach((name, depth) => {
      if (open[depth] !== name) {
        lines.push(`${'  '.repeat(depth)}${name}:`)
        open = folders.slice(0, depth + 1)
      }
    })
    open = folders
    lines.push(...keyLines(key, getAt(config, key.path)))
  }
  return `${lines.join('\n')}\n`
}

const keyLines = (key: ConfigKey, value: unknown): string[] => {
  const indent = '  '.repeat(key.path.length - 1)
  const name = key.path.at(-1) ?? ''
  const secret = (isSecret(name) || key.isHidden) && value !== undefined
  const text = stringify({ [name]: secret ? '(set)' : (value ?? null) }).trimEnd()
  return [
    `${indent}# ${[key.description, `Default: ${printDefault(key.defaultValue)}.`].join(' ').trim()}`,
    `${indent}# ${[environmentName(key), `--${flagName(key)}`, ...(key.provided ? [`else ${key.provided}`] : [])].join(', ')}`,
    ...text.split('\n').map(line => `${indent}${value === undefined ? '# ' : ''}${line}`),
  ]
}

export const helpText = (
  { program, commands, more }: { program: string; commands?: string; more?: string },
  keys: ConfigKey[],
  isFlagHelp: boolean,
): string => {
  const flags = keys.map(key => `  --${flagName(key)} VALUE`)
  const width = Math.max(...flags.map(flag => flag.length)) + 2
  const lines = keys.map((key, i) => `${flags[i]?.padEnd(width)}${key.description}`.trimEnd())
  const isShort = commands !== undefined && !isFlagHelp
  return [
    `Usage: ${program} [--config FILE.yaml] [--print-config] [--version] [--KEY VALUE ...]`,
    ...(isShort ? [`       ${program} COMMAND`, '', commands] : ['', ...lines]),
    '',
    ...(isShort ? [`${program} --help-config lists the flags of its configuration.`] : []),
    `${program} --print-config shows every key with its default and its environment variable.`,
    ...(more === undefined ? [] : [more]),
    '',
  ].join('\n')
}
