import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import t from 'tap'
import { isTool } from '../../coordinator/kernel/declaration/declaration.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import type { AnyJson } from '../support/a2a.ts'
import { startInOneProcess } from '../support/one-process-stack.ts'

/* The MCP inspector, as it is, against a real coordinator and cell. */

const run = promisify(execFile)
const build = resolve(
  ...[import.meta.dirname, '..', '..', 'node_modules', '@modelcontextprotocol'],
  ...['inspector-cli', 'build'],
)
const cli = join(build, 'cli.js')
/** The parts of which its command line consists; they have no types. */
const load = (file: string): Promise<AnyJson> => import(pathToFileURL(join(build, file)).href)
const { connect, disconnect, callTool, listTools } = await load('client/index.js')
const { createTransport } = await load('transport.js')
const { url, keys, stop } = await startInOneProcess({})
t.teardown(stop)

/** Adds the key and the toolsets on the way: this version of the client has no place for either. */
const openDoor = async (toolsets: string | undefined): Promise<Server> => {
  const query = toolsets === undefined ? '' : `?toolsets=${toolsets}`
  // the client believes the coordinator's header and may use a connection after more than 5 s
  const server = createServer({ keepAliveTimeout: 0 }, (asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${keys.operator}` }
    const onward = request(new URL(`${asked.url ?? '/'}${query}`, url), {
      method: asked.method ?? 'GET',
      headers,
    })
    onward.on('response', response => {
      answer.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    asked.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const withDoor = async <T>(
  toolsets: string | undefined,
  use: (url: string) => Promise<T>,
): Promise<T> => {
  const door = await openDoor(toolsets)
  const { port } = door.address() as AddressInfo
  try {
    return await use(`http://127.0.0.1:${port}/mcp/`)
  } finally {
    door.close()
  }
}

/** Runs the command line; it reads only the first page of tools, which a single group fits. */
const inspect = (toolsets: string | undefined, ...args: string[]): Promise<AnyJson> =>
  withDoor(toolsets, async url => {
    const { stdout } = await run(
      process.execPath,
      [...[cli, '--cli', url, '--transport', 'http'], ...args],
      { maxBuffer: 64 * 1024 * 1024 },
    )
    return JSON.parse(stdout)
  })

/**
 * Runs a client in this process as the command line does: its two programs take a second each
 * time.
 */
const withClient = (
  toolsets: string,
  use: (client: Client) => Promise<AnyJson>,
): Promise<AnyJson> =>
  withDoor(toolsets, async url => {
    const transport = createTransport({ transportType: 'http', url })
    const client = new Client({ name: 'inspector-cli', version: '1.0.0' })
    await connect(client, transport)
    try {
      return await use(client)
    } finally {
      await disconnect(transport)
    }
  })

const namesOf = ({ tools }: AnyJson): string[] => tools.map(({ name }: AnyJson) => name)

const every = [...skills, ...operations].filter(isTool)
const groups = [...new Set(every.flatMap(({ group }) => group ?? []))]
/** The toolset `skills` has those of the agent card beside the operations of that group. */
const idsOf = (of: readonly string[]): string[] =>
  every
    .filter(
      ({ group = '', path }) =>
        of.includes(group) || (of.includes('skills') && path.startsWith('/v1/skills/')),
    )
    .map(({ id }) => id)

const PAGE = 100
const { structuredContent: listed } = await inspect(
  'cells',
  ...['--method', 'tools/call', '--tool-name', 'cells-list'],
)
const [cell] = listed.cells

t.test('the inspector lists the first page of all tools in order', async t => {
  t.strictSame(
    namesOf(await inspect(undefined, '--method', 'tools/list')),
    every.map(({ id }) => id).slice(0, PAGE),
  )
})

t.test('the inspector lists every tool by group, one page each', async t => {
  const pages: string[][] = []
  for (const group of groups) {
    const last = pages.at(-1)
    if (last !== undefined && idsOf([...last, group]).length <= PAGE) last.push(group)
    else pages.push([group])
  }
  for (const page of pages)
    t.strictSame(namesOf(await withClient(page.join(','), listTools)), idsOf(page))
  t.same(new Set(pages.flatMap(idsOf)), new Set(every.map(({ id }) => id)))
})

/** Groups whose first tool that only looks cannot be asked without any input. */
const GIVEN: Record<string, [name: string, input: Record<string, string>]> = {
  agents: ['sads-discover', {}],
  host: ['host-os-info', { cell_id: cell.id }],
  planning: ['evm_calc', { bac: '100', pv: '50', ev: '40', ac: '45' }],
  // it works without a network
  modules: ['module-runtime-pull-recommend-run', {}],
}

/** One tool of a group: what only looks and needs nothing, where there is such a one. */
const oneOf = (group: string): [name: string, input: Record<string, string>] | undefined => {
  const looks = every.find(
    each => each.group === group && each.effect === 'read' && each.input.safeParse({}).success,
  )
  return GIVEN[group] ?? (looks && [looks.id, {}])
}

t.test('the inspector calls a tool of every group', async t => {
  for (const group of groups)
    t.test(group, async t => {
      const [name, input] = oneOf(group) ?? []
      if (name === undefined) return t.fail('say which of its tools can be called, and with what')
      const answer = await withClient(group, client => callTool(client, name, input))
      t.not(answer.isError, true, `${name} ${JSON.stringify(answer.content)}`)
      t.type(answer.structuredContent, 'object')
    })
})
