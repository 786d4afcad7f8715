import type { Command } from 'commander'
import { terminalWidth } from '../../shared/print.ts'
import { PROTOCOL_VERSION, VERSION } from '../../shared/version.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { createApi } from './api.ts'
import { type Environment, formatOf, type GlobalOptions } from './options.ts'
import { loadPrinter } from './printer.ts'
import { profilesFile, readProfiles } from './profiles.ts'
import { trustAuthorities } from './session.ts'
import { resolveSettings } from './settings.ts'

/** Longest wait for the coordinator's versions. */
const ASK_MS = 1000

/** Adds `shoal version`. It needs no key, and works without a coordinator. */
export const addVersion = (program: Command, env: Environment): void => {
  program
    .command('version')
    .description('show the versions of this program, the coordinator and the protocols')
    .action(() => showAllVersions(program.opts<GlobalOptions>(), env))
}

/**
 * Prints the version of this program and of the coordinator, if it answers at once. Needs no key.
 */
export const showVersions = async (options: GlobalOptions, env: Environment): Promise<void> => {
  const server = await askVersions(options, env).catch(() => undefined)
  if (formatOf(options) === 'json') {
    const coordinator = server === undefined ? null : { url: server.url, version: server.version }
    return printIn(options, { version: VERSION, coordinator })
  }
  process.stdout.write(`shoal ${VERSION}\n`)
  if (server !== undefined)
    process.stdout.write(`coordinator ${escapeHidden(server.version)} at ${server.url}\n`)
}

const showAllVersions = async (options: GlobalOptions, env: Environment): Promise<void> => {
  const server = await askVersions(options, env).catch((error: Error) => {
    process.stderr.write(`shoal: ${error.message}\n`)
    return undefined
  })
  const client = { version: VERSION, node: process.versions.node, api: 'v1' }
  return printIn(options, {
    client,
    // of the links and messages between coordinator and cells
    link_protocol: PROTOCOL_VERSION,
    coordinator: server ?? null,
  })
}

const printIn = async (options: GlobalOptions, value: Record<string, unknown>): Promise<void> => {
  const { toText } = await loadPrinter(options.format)
  process.stdout.write(toText(value, terminalWidth(process.stdout)))
}

interface Card {
  supportedInterfaces?: { protocolVersion?: unknown }[]
}

/** Versions of the coordinator and of the A2A bindings that it announces. */
const askVersions = async ({ key: _key, ...options }: GlobalOptions, env: Environment) => {
  const settings = resolveSettings(options, env, readProfiles(profilesFile(env)))
  await trustAuthorities(settings)
  const signal = AbortSignal.timeout(ASK_MS)
  const { url } = settings
  const api = createApi({ url, key: undefined, signal })
  const [health, card] = await Promise.all([
    api.get('/health'),
    api.get('/.well-known/agent-card.json').catch(() => undefined),
  ])
  const version = String((health as { version?: unknown }).version ?? 'unknown')
  const interfaces = (card as Card | undefined)?.supportedInterfaces ?? []
  const a2a = [...new Set(interfaces.map(({ protocolVersion }) => String(protocolVersion)))]
  return { url, version, a2a }
}
