import { type Format, formatOutput, type Printable, terminalWidth } from '../../shared/print.ts'
import { type Api, createApi } from './api.ts'
import { type DescribedOperation, operationsOf } from './document.ts'
import { cacheFolder, loadDocument } from './document-cache.ts'
import type { Environment, Options } from './options.ts'
import { profilesFile, readProfiles } from './profiles.ts'
import { createProgress, type Progress } from './progress.ts'
import { readSecret } from './read-secret.ts'
import { type Settings, settingsOf } from './settings.ts'
import { believeOnly, readAuthorities } from './trust.ts'

/** What a command gets. */
export interface Session {
  api: Api
  format: Format
  write: (text: string) => void
  /** Writes an answer as it was asked for, no wider than the terminal. */
  print: (value: Printable) => void
}

/** The session of this process. */
export interface OpenSession extends Session {
  /** What is written goes to a screen, not into a file or another program. */
  isTerminal: boolean
  settings: Settings
  progress: Progress
  /** What the coordinator says that it can be asked. */
  operations: () => Promise<DescribedOperation[]>
}

/** Gives a command its session once the flags are read. */
export type WithSession = (run: (session: OpenSession) => Promise<void>) => Promise<void>

/** Throws `config_invalid` for what is configured wrongly, before anything is asked. */
export const openSession = async (options: Options, env: Environment): Promise<OpenSession> => {
  const { format } = options
  const settings = settingsOf(await withPipedKey(options), env, readProfiles(profilesFile(env)))
  believe(settings)
  const write = (text: string): void => void process.stdout.write(text)
  const print = (value: Printable): void =>
    write(formatOutput(value, format, terminalWidth(process.stdout)))
  const api = createApi(settings)
  const progress = createProgress({ output: process.stderr, env })
  let loaded: Promise<DescribedOperation[]> | undefined
  const operations = (): Promise<DescribedOperation[]> => {
    loaded ??= loadDocument(api, settings.url, cacheFolder(env)).then(operationsOf)
    return loaded
  }
  const isTerminal = process.stdout.isTTY === true
  return { settings, api, format, write, print, progress, operations, isTerminal }
}

/** `--key -`: a key among the arguments can be read by everybody on the machine. */
export const withPipedKey = async (options: Options): Promise<Options> =>
  options.key === '-' ? { ...options, key: await readSecret('key: ') } : options

/** A file that is named comes before what the profile keeps. */
export const believe = ({ ca, caFile }: Pick<Settings, 'ca' | 'caFile'>): void => {
  const pem = caFile === undefined ? ca : readAuthorities(caFile)
  if (pem !== undefined) believeOnly(pem)
}
