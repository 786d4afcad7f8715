import { type PrintableRows, terminalWidth } from '../../shared/print.ts'
import { type Api, createApi } from './api.ts'
import type { DescribedOperation } from './document.ts'
import { cacheFolder, loadOperations } from './document-cache.ts'
import { type Environment, formatOf, type GlobalOptions } from './options.ts'
import { loadPrinter } from './printer.ts'
import { profilesFile, readProfiles } from './profiles.ts'
import { createProgress, type ProgressLine } from './progress.ts'
import { type CliSettings, resolveSettings } from './settings.ts'

/** Environment of a command. */
export interface CliSession {
  api: Api
  /** Kind of reader: `json` stands for every format that programs read. */
  format: 'text' | 'json'
  write: (text: string) => void
  /** Prints an answer in the chosen format, no wider than the terminal. */
  print: (value: PrintableRows) => void
}

/** The session of this process. */
export interface OpenSession extends CliSession {
  /** True when standard output is a terminal, and not a file or pipe. */
  isTerminal: boolean
  /** The text that `print` writes. */
  toText: (value: PrintableRows) => string
  /** The same for one of several answers, such that a program can tell where each ends. */
  toNextText: (value: PrintableRows) => string
  settings: CliSettings
  progress: ProgressLine
  /** Prints a suggestion, beside the answer: on standard error. */
  hint: (text: string) => void
  /** Operations described by the coordinator. */
  operations: () => Promise<DescribedOperation[]>
}

/** Gives a command its session once the flags are read. */
export type RunWithSession = (run: (session: OpenSession) => Promise<void>) => Promise<void>

const hasPlan = (value: PrintableRows): boolean =>
  !Array.isArray(value) && typeof value.plan === 'object' && value.plan !== null

/** Throws `config_invalid` for invalid settings, before any request is sent. */
export const openSession = async (
  options: GlobalOptions,
  env: Environment,
): Promise<OpenSession> => {
  const format = formatOf(options)
  const printer = await loadPrinter(options.format)
  const settings = resolveSettings(
    await withPipedKey(options),
    env,
    readProfiles(profilesFile(env)),
  )
  await trustAuthorities(settings)
  const write = (text: string): void => void process.stdout.write(text)
  const toText = (value: PrintableRows): string =>
    // nothing of a plan that somebody decides on is left out, however narrow the terminal
    printer.toText(value, hasPlan(value) ? undefined : terminalWidth(process.stdout))
  const print = (value: PrintableRows): void => write(toText(value))
  const hint = (text: string): void => void process.stderr.write(`${text}\n`)
  const api = createApi(settings)
  const progress = createProgress({ output: process.stderr, env })
  let loaded: Promise<DescribedOperation[]> | undefined
  const operations = (): Promise<DescribedOperation[]> => {
    loaded ??= loadOperations(api, settings.url, cacheFolder(env))
    return loaded
  }
  const isTerminal = process.stdout.isTTY === true
  return {
    settings,
    api,
    format,
    write,
    toText,
    toNextText: printer.toNextText,
    print,
    progress,
    hint,
    operations,
    isTerminal,
  }
}

/**
 * Reads the key for `--key -`, because every user of a machine can read the arguments of a program.
 */
const withPipedKey = async (options: GlobalOptions): Promise<GlobalOptions> =>
  options.key === '-'
    ? { ...options, key: await (await import('./read-secret.ts')).readSecret('key: ') }
    : options

/** Trusts the named file or, without one, the authorities of the profile. */
export const trustAuthorities = async ({
  ca,
  caFile,
}: Pick<CliSettings, 'ca' | 'caFile'>): Promise<void> => {
  if (ca === undefined && caFile === undefined) return
  const { readAuthorities, trustOnly } = await import('./trust.ts')
  trustOnly(caFile === undefined ? (ca ?? '') : readAuthorities(caFile))
}
