import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import type { Fleet } from '../../../../coordinator/fleet/cells/fleet.ts'
import { askCell } from '../../../../coordinator/fleet/questions/ask-cell.ts'
import { LineReader } from '../../../../coordinator/fleet/questions/line-reader.ts'
import { dispatch } from '../../../../coordinator/gateway/dispatch/dispatch.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createAnswerMemory } from '../../../support/answer-memory.ts'
import { endWithUsage, type LinkedCell, linkCell } from '../../../support/cell.ts'
import { type Random, randomOf } from '../../../support/random.ts'

const KIB = 1024
const MIB = 1024 * KIB
const ROUNDS = Number(process.env.SHOAL_FUZZ_ROUNDS ?? 2)
const SEED = Number(process.env.SHOAL_FUZZ_SEED ?? 7)
const AT_ONCE = 40
const KINDS = ['whole', 'whole', 'stream', 'declined', 'text', 'lines'] as const

interface Asked {
  kind: (typeof KINDS)[number]
  seed: number
  /** The first cell resets its answer somewhere. */
  isReset: boolean
  /** The client leaves in the middle of its answer. */
  isCancelled: boolean
  /** Turns of the event loop that the client waits between two reads. */
  pauses: number
}

/** Lines, or events of a stream, of any length; no two cells send the same. */
const textOf = (cellId: string, { kind, seed }: Pick<Asked, 'kind' | 'seed'>): string => {
  const random = randomOf(seed)
  const sizes = [20, 500, 9 * KIB, 40 * KIB, 150 * KIB]
  return Array.from({ length: 1 + random.randomBelow(12) }, (_, n) => {
    const word = `${cellId} ${seed} ${n} ${random.randomBelow(1e9)} `
    const line = word.repeat(1 + random.randomBelow(random.pick(sizes)) / word.length)
    return kind === 'stream' ? `data: ${line}\n\n` : `${line}\n`
  }).join('')
}

/** Sends an answer in pieces of any size, some of them in one turn of the event loop. */
const sendPieces = async (
  response: Http2ServerResponse,
  bytes: Buffer,
  random: Random,
): Promise<void> => {
  const sizes = [10, 1000, 17 * KIB, 64 * KIB, 300 * KIB]
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.randomBelow(random.pick(sizes))
    if (response.stream?.destroyed !== false) return
    response.write(bytes.subarray(at, end))
    at = end
    if (random.randomBelow(3) === 0) await setImmediate()
  }
}

const openCell = async (t: Test, cellId: string): Promise<LinkedCell> => {
  const cell = await linkCell(cellId, async (request, response) => {
    const asked: Asked = JSON.parse(String(request.headers['x-asked']))
    const random = randomOf(asked.seed + cellId.length)
    const bytes = Buffer.from(textOf(cellId, asked))
    const isReset = asked.isReset && cellId === 'first'
    const type = asked.kind === 'stream' ? 'text/event-stream' : 'application/json'
    response.on('error', () => {})
    response.writeHead(200, { 'content-type': type })
    const sent = isReset ? bytes.subarray(0, random.randomBelow(bytes.length)) : bytes
    await sendPieces(response, sent, random)
    if (isReset) response.stream?.close(2)
    else if (response.stream?.destroyed === false) endWithUsage(response)
  })
  t.teardown(() => cell.close())
  return cell
}

/** Clients of two cells; `text` and `lines` are read from the first one without a client. */
const openScene = async (t: Test, memoryBytes: number) => {
  const cells = [await openCell(t, 'first'), await openCell(t, 'second')]
  const links = cells.map(({ link }) => link)
  const memory = createAnswerMemory(memoryBytes)
  const answer = async (asked: Asked, response: ServerResponse): Promise<void> => {
    let turn = 0
    const result = await dispatch({
      runtime: systemRuntime,
      path: '/',
      headers: { 'x-asked': JSON.stringify(asked) },
      body: Buffer.from('{}'),
      response,
      answerHeaders: {},
      stream: asked.kind === 'stream',
      memory,
      keyId: 'k',
      pick: tried => {
        const link = links.find(({ cellId }) => !tried.has(cellId))
        return link && { cellId: link.cellId, link, slots: 99, inFlight: 0, others: 0, ready: true }
      },
      ...(asked.kind === 'declined' && { accept: () => false }),
      record: async () => {
        for (; turn < asked.pauses; turn++) await setImmediate()
      },
    })
    if (result.kind !== 'declined') return
    // others need memory while it is kept
    for (let n = 0; n < 20; n++) await setImmediate()
    await result.deliver?.()
  }
  const server = createServer((request, response) => {
    void answer(JSON.parse(String(request.headers['x-asked'])), response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const [first] = links as [CellLink]
  return { first, port, areLinksUp: () => links.every(({ isOpen }) => isOpen) }
}

type Scene = Awaited<ReturnType<typeof openScene>>

/** What a client has received: from which cell, and whether its answer came to its end. */
interface Received {
  /** Undefined where no cell's answer was given. */
  cellId: string | undefined
  bytes: Buffer
  isWhole: boolean
}

const readAsClient = async ({ port }: Scene, asked: Asked): Promise<Received> => {
  const headers = { 'x-asked': JSON.stringify(asked) }
  const sent = get({ port, headers, agent: false })
  const response: IncomingMessage | undefined = await once(sent, 'response').then(
    ([first]) => first,
    () => undefined,
  )
  if (response === undefined) return { cellId: undefined, bytes: Buffer.alloc(0), isWhole: false }
  const cellId = response.headers['x-shoal-cell'] as string | undefined
  const pieces: Buffer[] = []
  try {
    for await (const piece of response) {
      pieces.push(piece)
      if (asked.isCancelled) break
      for (let n = 0; n < asked.pauses; n++) await setImmediate()
    }
  } catch {}
  return { cellId, bytes: Buffer.concat(pieces), isWhole: response.complete }
}

const readText = async ({ first }: Scene, asked: Asked): Promise<Received> => {
  const link = withHeader(first, asked)
  const fleet = { cell: () => ({ link }) } as unknown as Pick<Fleet, 'cell'>
  const question = { path: '/', what: 'its text', maxBytes: 1e9, maxSeconds: 60 }
  const stop = new AbortController()
  const answer = askCell(fleet, 'first', question, stop.signal)
  if (asked.isCancelled) void setImmediate().then(() => stop.abort())
  const text = await answer.then(
    whole => whole.text,
    () => undefined,
  )
  return { cellId: 'first', bytes: Buffer.from(text ?? ''), isWhole: text !== undefined }
}

/** A link that sends what is asked for with each request. */
const withHeader = (link: CellLink, asked: Asked): CellLink => ({
  ...link,
  request: (request, listener) =>
    link.request({ ...request, headers: { 'x-asked': JSON.stringify(asked) } }, listener),
})

const readLines = async ({ first }: Scene, asked: Asked): Promise<Received> => {
  const reader = new LineReader({ maxBytes: 1e9, maxLineBytes: 1e9 })
  const lines: string[] = []
  try {
    reader.attach(withHeader(first, asked).request({ method: 'GET', path: '/' }, reader))
    for (let line = await reader.read(); line !== undefined; line = await reader.read()) {
      lines.push(`${line}\n`)
      if (asked.isCancelled) reader.cancel()
      for (let n = 0; n < asked.pauses; n++) await setImmediate()
    }
    return { cellId: 'first', bytes: Buffer.from(lines.join('')), isWhole: true }
  } catch {
    return { cellId: 'first', bytes: Buffer.from(lines.join('')), isWhole: false }
  }
}

const ERROR_EVENT = /event: error\ndata: .*\n\n$/

/** What is wrong with an answer; undefined for one whose every byte is what its cell sent. */
const findFault = (
  asked: Asked,
  { cellId, bytes, isWhole }: Received,
  canRefuse: boolean,
): string | undefined => {
  const told = JSON.stringify(asked)
  if (cellId === undefined) return canRefuse ? undefined : `${told}: ${bytes}`
  const expected = textOf(cellId, asked)
  const got = bytes.toString()
  const text = asked.kind === 'stream' ? got.replace(ERROR_EVENT, '') : got
  if (!expected.startsWith(text)) return `${told}: other bytes than ${cellId} has sent`
  const isCut = canRefuse || asked.isCancelled || (asked.isReset && cellId === 'first')
  if (isCut && asked.kind === 'stream') return undefined
  if (isWhole ? text === expected : isCut) return undefined
  return `${told}: ${text.length} of ${expected.length} bytes`
}

for (const [memoryBytes, words] of [
  [256 * MIB, 'room for all of them'],
  [2 * MIB, 'room for some of them'],
] as const)
  t.test(`answers have every byte that their cell has sent, with ${words}`, async t => {
    const scene = await openScene(t, memoryBytes)
    const random = randomOf(SEED)
    const counts = { whole: 0, cut: 0 }
    const askOne = async (): Promise<string[]> => {
      const asked: Asked = {
        kind: random.pick(KINDS),
        seed: random.randomBelow(2 ** 31),
        isReset: random.randomBelow(5) === 0,
        isCancelled: random.randomBelow(6) === 0,
        pauses: random.pick([0, 0, 1, 5, 50]),
      }
      const read = { text: readText, lines: readLines }[asked.kind as 'text'] ?? readAsClient
      const received = await read(scene, asked)
      counts[received.isWhole ? 'whole' : 'cut']++
      // the HTTP/2 server of Node, which is the cell here, may end a session when a stream is reset
      const canRefuse = memoryBytes < 256 * MIB || !scene.areLinksUp()
      return [findFault(asked, received, canRefuse) ?? []].flat()
    }
    for (let round = 0; round < ROUNDS; round++)
      t.strictSame((await Promise.all(Array.from({ length: AT_ONCE }, askOne))).flat(), [])
    t.ok(counts.whole > 0 && counts.cut > 0, JSON.stringify(counts))
  })
