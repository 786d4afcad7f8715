import { join } from 'node:path'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { type StorePlace, storePlaceOf } from '../../coordinator/kernel/store/place.ts'
import { EXIT, LaunchError } from './launch-error.ts'
import type { UpOptions } from './options.ts'
import { type EmbeddedPostgres, startPostgres } from './postgres.ts'
import type { LaunchScreen } from './screen.ts'
import { coordinatorFolder, logFolder } from './state.ts'

/** Place where the coordinators of one launcher keep everything. */
interface LaunchDatabase {
  place: StorePlace
  /** Flags of a coordinator that name the place; none for SQLite. */
  flags: string[]
  /** The server, if the launcher runs it. */
  server: EmbeddedPostgres | undefined
}

interface DatabaseParts {
  options: UpOptions
  screen: LaunchScreen
  env: Record<string, string | undefined>
}

/** Starts PostgreSQL where that is wanted. Throws LaunchError for an address of another kind. */
export const openDatabase = async (parts: DatabaseParts): Promise<LaunchDatabase> => {
  const { postgres, stateDir } = parts.options
  if (postgres === undefined)
    return { place: coordinatorFolder(stateDir, 1), flags: [], server: undefined }
  const server = postgres === 'embedded' ? await startEmbedded(parts) : undefined
  const url = server?.url ?? postgres
  return { place: placeOf(url), flags: ['--store-url', url], server }
}

const startEmbedded = ({ options, screen, env }: DatabaseParts): Promise<EmbeddedPostgres> => {
  screen.progress('starting PostgreSQL')
  const { stateDir } = options
  const folder = join(stateDir, 'postgres')
  return startPostgres({ folder, logFolder: logFolder(stateDir), env, say: screen.say })
}

const placeOf = (url: string): StorePlace => {
  const parsed = CoordinatorConfig.safeParse({ store: { url } })
  if (parsed.success) return storePlaceOf(parsed.data)
  const message = `--postgres takes embedded or postgres://user@host/name: ${parsed.error.issues[0]?.message}`
  throw new LaunchError(EXIT.usage, message)
}
