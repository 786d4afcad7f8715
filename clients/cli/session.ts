import type { Format } from '../../shared/print.ts'
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
}

/** Gives a command its session once the flags are read. */
export type WithSession = (run: (session: Session) => Promise<void>) => Promise<void>

export const openSession = (options: Options, env: Environment): Session => ({
  api: createApi({
    url: options.url,
    key: options.key ?? env.SHOAL_KEY,
    tenant: options.tenant ?? env.SHOAL_TENANT,
  }),
  format: options.format,
  write: text => void process.stdout.write(text),
})
