import * as z from 'zod'
import type { ScanContext, ScanRun } from '../../scan-run.ts'
import { Container, Image, Info, Network, Volume } from './docker/engine-answers.ts'
import { createNoEngine, EngineClient, explainFailure } from './docker/engine-client.ts'
import {
  containerRow,
  engineRow,
  hasGpuRuntime,
  type InventoryRow,
  imageRow,
  networkRow,
  volumeRow,
} from './docker/inventory-rows.ts'
import { listSockets } from './docker/list-sockets.ts'
import { negotiate } from './docker/negotiate.ts'

/** `discovery.modules.docker-inventory` of a cell. */
export const config = z.strictObject({
  socket: z
    .string()
    .min(1)
    .max(100)
    .exactOptional()
    .describe('Unix socket of the engine: `/run/podman/podman.sock`.'),
})

/** Most rows of one kind. */
const MAX_ROWS = 2000

const run: ScanRun<Record<string, never>, InventoryRow> = async function* (_input, context) {
  const { socket } = config.parse(context.config ?? {})
  const { client, version, apiVersion } = await findEngine(
    listSockets(socket, process.env),
    context.signal,
  )
  const info = Info.parse(await client.get('/info'))
  const isPodman = version.Components.some(({ Name }) => /podman/i.test(Name))
  yield engineRow(info, {
    product: isPodman ? 'podman' : 'docker',
    version: version.Version.slice(0, 64),
    api_version: apiVersion,
  })
  const hasGpus = hasGpuRuntime(info)
  const list = listKind(client, context)
  yield* list('/containers/json?all=1', Container, each => containerRow(each, hasGpus))
  yield* list('/images/json', Image, imageRow)
  yield* list('/networks', Network, networkRow)
  yield* list('/volumes', Volume, volumeRow)
}

export default run

/** The first engine that answers. */
const findEngine = async (sockets: readonly string[], signal: AbortSignal) => {
  const reasons: string[] = []
  for (const socket of sockets) {
    const client = new EngineClient(socket, signal)
    try {
      return { client, ...(await negotiate(client)) }
    } catch (error) {
      signal.throwIfAborted()
      reasons.push(explainFailure(socket, error as Error))
    }
  }
  throw createNoEngine(reasons)
}

/** Rows of one kind; what cannot be listed or read costs this kind only. */
const listKind = (client: EngineClient, { warn, signal }: ScanContext) =>
  async function* <T extends z.ZodType>(
    path: string,
    schema: T,
    toRow: (item: z.output<T>) => InventoryRow,
  ): AsyncGenerator<InventoryRow> {
    const items = await listItems(client, path).catch((error: Error) => {
      signal.throwIfAborted()
      warn('partial_result', error.message.slice(0, 500))
      return []
    })
    const read = items.slice(0, MAX_ROWS).map(item => schema.safeParse(item))
    for (const { success, data } of read) if (success) yield toRow(data)
    const unread = read.filter(({ success }) => !success).length
    if (unread > 0) warn('unparsed_record', `${unread} entries of ${path} have an unknown format`)
    if (items.length > MAX_ROWS)
      warn('partial_result', `${path} lists ${items.length} entries; ${MAX_ROWS} are shown`)
  }

/** The list of volumes stands in a field of the answer. */
const listItems = async (client: EngineClient, path: string): Promise<unknown[]> => {
  const answer = (await client.get(path)) as { Volumes?: unknown[] | null } | unknown[] | null
  return Array.isArray(answer) ? answer : (answer?.Volumes ?? [])
}
