import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parse, stringify } from 'yaml'
import * as z from 'zod'
import { describeConfigFault, isSecret } from './config-fault.ts'
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

/** One value that can be set. */
interface ConfigKey {
  path: string[]
  schema: z.ZodType
  description: string
  defaultValue: unknown
  /** Environment name, where it does not follow from the path. */
  environment: string | undefined
  /** Value of the system with one variable of the environment in it; replaces the default. */
  provided: string | undefined
  /** True for a value that is never printed: `.meta({ secret: true })`. */
  isHidden: boolean
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

/** Lists every key of a schema, depth first, in schema order. */
const keysOf = (schema: z.ZodObject, path: string[] = []): ConfigKey[] =>
  Object.entries(schema.shape).flatMap(([name, field]) => {
    const here = [...path, name]
    const { inner, ...rest } = unwrap(field as z.ZodType)
    if (inner instanceof z.ZodObject) return keysOf(inner, here)
    const defaultValue = defaultOf(field as z.ZodType)
    return [{ path: here, schema: inner, defaultValue, ...rest }]
  })

const flagName = (key: ConfigKey): string => key.path.join('-').replaceAll('_', '-')
const plainName = (key: ConfigKey): string => `SHOAL_${key.path.join('_').toUpperCase()}`
const environmentName = (key: ConfigKey): string => key.environment ?? plainName(key)

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

const unwrap = (schema: z.ZodType) => {
  let inner = schema
  let description = schema.description ?? ''
  let environment = metaText(schema, 'environment')
  let provided = metaText(schema, 'provided')
  let isHidden = schema.meta()?.secret === true
  while (
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault ||
    inner instanceof z.ZodOptional
  ) {
    inner = inner.unwrap() as z.ZodType
    description ||= inner.description ?? ''
    environment ??= metaText(inner, 'environment')
    provided ??= metaText(inner, 'provided')
    isHidden ||= inner.meta()?.secret === true
  }
  return { inner, description, environment, provided, isHidden }
}

const metaText = (schema: z.ZodType, name: 'environment' | 'provided'): string | undefined => {
  const text = schema.meta()?.[name]
  return typeof text === 'string' ? text : undefined
}

const defaultOf = (schema: z.ZodType): unknown => {
  const result = schema.safeParse(undefined)
  return result.success ? result.data : undefined
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

const printDefault = (value: unknown): string =>
  value === undefined ? 'unset' : typeof value === 'object' ? 'see below' : JSON.stringify(value)

/** Effective configuration as YAML; each key has its description, default and other names. */
const printConfig = (keys: ConfigKey[], config: unknown): string => {
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

const getAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (at, name) => (at as Record<string, unknown> | null | undefined)?.[name],
    value,
  )

const helpText = (
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
