import { columnsOf, type Format, type Printable, printed } from '../../shared/print.ts'
import { type Api, createApi } from './api.ts'

export type Environment = Record<string, string | undefined>

/** Flags of the program itself. */
export interface Options {
  url: string
  key?: string
  tenant?: string
  format: Format
}

/** What a command gets. */
export interface Session {
  api: Api
  format: Format
  write: (text: string) => void
  /** Writes an answer as it was asked for, no wider than the terminal. */
  print: (value: Printable) => void
}

/** Gives a command its session once the flags are read. */
export type WithSession = (run: (session: Session) => Promise<void>) => Promise<void>

export const openSession = (options: Options, env: Environment): Session => {
  const { format } = options
  const write = (text: string): void => void process.stdout.write(text)
  const print = (value: Printable): void => write(printed(value, format, columnsOf(process.stdout)))
  return { api: apiOf(options, env), format, write, print }
}

const apiOf = (options: Options, env: Environment): Api =>
  createApi({
    url: options.url,
    key: options.key ?? env.SHOAL_KEY,
    tenant: options.tenant ?? env.SHOAL_TENANT,
  })
