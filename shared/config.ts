import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import * as z from 'zod'
import { describeConfigFault } from './config-fault.ts'
import {
  type ConfigKey,
  environmentName,
  flagName,
  getAt,
  keysOf,
  plainName,
} from './config-keys.ts'
import { helpText, printConfig } from './config-text.ts'
import { ShoalError } from './errors.ts'
import { VERSION } from './version.ts'

/**
 * Configuration of one process: a strict zod object, filled from (later wins) its defaults, a YAML
 * file, the environment and flags. A key `http.port` is `SHOAL_HTTP_PORT` in the environment and
 * `--http-port` as a flag. Key names end with their unit. A key that has different meanings in two
 * programs declares its own environment name: `.meta({ environment: … })`. A key that the system
 * provides where nobody sets it, such as a folder made by systemd, names that in
 * `.meta({ provided: '$STATE_DIRECTORY' })`: it replaces the default and yields to all the others.
 */
interface ConfigSource<T extends z.ZodObject> {
  program: string
  schema: T
  /** Arguments after the program's name. */
  argv: string[]
  env: Record<string, string | undefined>
  /** Commands of the program, for its help; the flags then are those of `--help-config`. */
  commands?: string
  /** Last line of the help. */
  more?: string
}

/** A value that the environment or a flag has set. */
export interface GivenSetting {
  path: readonly string[]
  value: unknown
  /** True for a value that is never printed. */
  isHidden?: boolean
}

export type LoadedConfig<T> =
  | { action: 'run'; config: T; given: readonly GivenSetting[] }
  /** The user passed `--help`, `--help-config`, `--version` or `--print-config`: print the text and exit. */
  | { action: 'print'; text: string }

export const loadConfig = <T extends z.ZodObject>(
  source: ConfigSource<T>,
): LoadedConfig<z.output<T>> => {
  const keys = keysOf(source.schema)
  const flags = readFlags(source, keys)
  const isFlagHelp = flags['help-config'] === true
  if (flags.help === true || isFlagHelp)
    return { action: 'print', text: helpText(source, keys, isFlagHelp) }
  if (flags.version === true) return { action: 'print', text: `${VERSION}\n` }

  const values = readFile(stringFlag(flags.config) ?? source.env.SHOAL_CONFIG)
  const given: GivenSetting[] = []
  for (const key of keys) {
    const text = stringFlag(flags[flagName(key)]) ?? fromEnvironment(source.env, key)
    const provided = getAt(values, key.path) === undefined ? fromSystem(source.env, key) : undefined
    const { path, isHidden } = key
    if (text !== undefined) given.push({ path, isHidden, value: fromText(key.schema, text) })
    else if (provided !== undefined) setAt(values, key.path, provided)
  }
  for (const { path, value } of given) setAt(values, path, value)
  const config = parseConfig(source.schema, values)
  return flags['print-config'] === true
    ? { action: 'print', text: printConfig(keys, config) }
    : { action: 'run', config, given }
}

/** A flag of a configuration. */
interface ConfigFlag {
  /** Flag, such as `--http-port`. */
  flag: string
  description: string
  /** Values of an enumeration or a boolean; empty for other types. */
  choices: string[]
}

/** Lists the flags that set single keys of a configuration. */
export const listConfigFlags = (schema: z.ZodObject): ConfigFlag[] =>
  keysOf(schema).map(key => ({
    flag: `--${flagName(key)}`,
    description: key.description,
    choices: choicesOf(key.schema),
  }))

const choicesOf = (schema: z.ZodType): string[] => {
  if (schema instanceof z.ZodEnum) return schema.options.map(String)
  return schema instanceof z.ZodBoolean ? ['true', 'false'] : []
}

/** Throws `config_invalid` for an environment name that several programs would read differently. */
const fromEnvironment = (
  env: ConfigSource<z.ZodObject>['env'],
  key: ConfigKey,
): string | undefined => {
  const name = environmentName(key)
  const plain = plainName(key)
  if (env[name] === undefined && name !== plain && env[plain] !== undefined)
    throw new ShoalError(
      'config_invalid',
      `${plain} is ambiguous, because several shoal programs read it: set ${name} instead`,
    )
  return env[name]
}

const VARIABLE = /\$([A-Z_]+)/

/** The value that the system provides, unless it lacks the variable. */
const fromSystem = (
  env: ConfigSource<z.ZodObject>['env'],
  { provided }: ConfigKey,
): string | undefined => {
  const value = env[VARIABLE.exec(provided ?? '')?.[1] ?? '']
  return value ? provided?.replace(VARIABLE, () => value) : undefined
}

const readFlags = <T extends z.ZodObject>(source: ConfigSource<T>, keys: ConfigKey[]) => {
  const options = {
    config: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
    'help-config': { type: 'boolean' },
    version: { type: 'boolean' },
    'print-config': { type: 'boolean' },
    ...Object.fromEntries(keys.map(key => [flagName(key), { type: 'string' }])),
  } as Record<string, { type: 'string' | 'boolean'; short?: string }>
  try {
    return parseArgs({ args: source.argv, options, strict: true }).values
  } catch (cause) {
    const [message] = (cause as Error).message.split('. ')
    throw new ShoalError(
      'wrong_usage',
      `${message}; ${source.program} --help-config lists the flags`,
      {
        cause,
      },
    )
  }
}

const stringFlag = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

const readFile = (path: string | undefined): Record<string, unknown> => {
  if (path === undefined) return {}
  try {
    const values: unknown = parse(readFileSync(path, 'utf8')) ?? {}
    if (typeof values !== 'object' || Array.isArray(values)) throw new Error('it is not a mapping')
    return values as Record<string, unknown>
  } catch (cause) {
    const { message } = cause as Error
    throw new ShoalError('config_invalid', `configuration file ${path}: ${message}`, { cause })
  }
}

const setAt = (target: Record<string, unknown>, path: readonly string[], value: unknown): void => {
  const [name = '', ...rest] = path
  if (rest.length === 0) {
    target[name] = value
    return
  }
  const next = target[name]
  const child = typeof next === 'object' && next !== null ? next : {}
  target[name] = child
  setAt(child as Record<string, unknown>, rest, value)
}

/**
 * Parses a flag or variable as its schema expects; unparseable text is left for the schema to
 * refuse.
 */
const fromText = (schema: z.ZodType, text: string): unknown => {
  if (schema instanceof z.ZodString || schema instanceof z.ZodStringFormat) return text
  if (schema instanceof z.ZodArray && !/^\s*\[/.test(text))
    return text === ''
      ? []
      : text.split(',').map(item => fromText(schema.element as z.ZodType, item))
  try {
    return parse(text)
  } catch {
    return text
  }
}

const parseConfig = <T extends z.ZodObject>(schema: T, values: unknown): z.output<T> => {
  const result = schema.safeParse(values)
  if (result.success) return result.data
  const lines = result.error.issues.map(issue => `  ${describeConfigFault(schema, values, issue)}`)
  throw new ShoalError('config_invalid', `the configuration is not valid:\n${lines.join('\n')}`)
}
