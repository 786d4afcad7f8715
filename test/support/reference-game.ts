import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Test } from 'tap'
import { openPipeline } from '../../coordinator/calls/invoke/open.ts'
import type { Devices } from '../../coordinator/devices/inventory/devices.ts'
import { findStopTargets } from '../../coordinator/devices/inventory/operations/devices/estop-target.ts'
import { openBroker } from '../../coordinator/fleet/broker/open.ts'
import type { OpenPart } from '../../coordinator/kernel/base/open-all.ts'
import { toProfileFacts } from '../../daemon/devices/device-facts.ts'
import { DeviceHost } from '../../daemon/devices/device-host.ts'
import { createDeviceId } from '../../devices/device-id.ts'
import { newId } from '../../shared/ids.ts'
import { envelope } from '../../shared/wire/envelope.ts'
import { temporaryStore } from '../coordinator/kernel/store/temporary.ts'
import { cellWith } from '../daemon/estop/scene.ts'
import { silent } from './cell.ts'
import { createCellBus } from './cell-bus.ts'
import { openScene } from './coordinator.ts'
import { announceDevices, createDeviceFacts } from './device-facts.ts'
import { cart, FakeLink } from './fake-link.ts'
import { type Surface, surfacesOf } from './surfaces.ts'
import { waitUntil } from './wait-until.ts'

type PipelinePartParts = Parameters<typeof openPipeline>[0]

const CELLS = ['cell-1', 'Cell-1', 'rover-1'] as const
const SITE = 'hall'

/** How the id of an announced device comes about; `at` chooses among cells and names. */
type IdKind = 'own' | 'hardware' | 'stolen' | 'word' | 'cell' | 'upper' | 'short'
/** How its name comes about. */
type NameKind = 'plain' | 'id' | 'prefix' | 'cell' | 'cell id' | 'site'

interface Drawn {
  cell: number
  id: IdKind
  name: NameKind
  /** Choices among plain names, and among the cells and names of others. */
  plain: number
  at: number
}

/** Plain names; each world has its own, so that no id of an earlier world is bound. */
const PLAIN = ['rover-1', 'Rover-1', 'rover', 'rover-10', 'ROVER-1']

const drawn: fc.Arbitrary<Drawn> = fc.record({
  cell: fc.nat(CELLS.length - 1),
  id: fc.constantFrom<IdKind>(
    ...(['own', 'own', 'own', 'own', 'own', 'hardware', 'hardware', 'stolen', 'stolen'] as const),
    ...(['word', 'cell', 'upper', 'short'] as const),
  ),
  name: fc.constantFrom<NameKind>(
    'plain',
    'plain',
    'plain',
    'id',
    'prefix',
    'cell',
    'cell id',
    'site',
  ),
  plain: fc.nat(PLAIN.length - 1),
  at: fc.nat(7),
})

interface Announced {
  cell: number
  id: string
  name: string
}

/** A device as the rules of this test have it, told by nobody of the product. */
interface Expected {
  id: string
  name: string
  /** Cells that serve it. */
  cells: readonly number[]
}

interface ReferenceTally {
  worlds: number
  devices: number
  refused: number
  references: number
  calls: number
  reached: number
}

/**
 * Births with ids, names and labels that collide, and every reference on every surface. `plant` makes
 * a fault that the game must find.
 */
export const openReferenceGame = async (t: Test, plant = (_devices: Devices): void => {}) => {
  const cells = await Promise.all(
    CELLS.map(async name => {
      const cellId = newId('cell')
      const link = new FakeLink()
      const host = new DeviceHost({
        config: { site: SITE },
        links: [link],
        now: Date.now,
        nowMs: () => performance.now(),
        logger: silent,
      })
      return { name, cellId, link, bus: await createCellBus(t, { cellId, host }) }
    }),
  )
  let receive: Receive = () => undefined
  const buses = cells.map(({ bus }) => (bus.swap[1] as OpenBus)({}).bus)
  const openGameBus: OpenPart = () => ({
    bus: {
      ...buses[0],
      publish: (...message: unknown[]) => Promise.all(buses.map(bus => bus.publish(...message))),
    },
    arrivals: {
      listen: (listener: Receive) => {
        receive = listener
      },
    },
    busEnd: new AsyncDisposableStack(),
  })
  const scene = await openScene(t, {
    // no rehearsal of free works, which other tests prove: it costs the game an eighth of its time
    store: await temporaryStore(t, undefined, { hooks: {} }),
    swaps: new Map<OpenPart, OpenPart>([
      [openBroker, openGameBus],
      [openPipeline, (parts: PipelinePartParts) => openPipeline({ ...parts, countCall: () => {} })],
    ]),
  })
  for (const { bus } of cells) await bus.join(scene)
  plant(scene.devices)
  await scene.app.listen({ host: '127.0.0.1', port: 0 })

  /** Renews the leases of the cells: they say nothing, and a busy machine takes its time. */
  const keepAlive = (): void => {
    for (const { cellId } of cells) scene.fleet.touch(cellId)
  }
  const call = async (key: string, method: 'GET' | 'POST' | 'PUT', url: string, body?: object) => {
    keepAlive()
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const response = await scene.app.inject({ method, url, headers, ...payload })
    return { status: response.statusCode, json: response.json() }
  }
  const key = scene.demo.operator
  const surfaces = surfacesOf({ app: scene.app, call } as never, key)
  /** Begins a session or a conversation, before calls are made at the same time. */
  const begin = ({ call: callSkill }: Surface) =>
    callSkill('device-command', look('nothing'), { key, callKey: randomUUID() })
  for (const each of surfaces) await begin(each)
  /** A long game exceeds what a conversation takes in messages and tokens. */
  const renewConversation = async (): Promise<void> => {
    const at = surfaces.findIndex(({ name }) => name === 'conversation')
    const renewed = surfacesOf({ app: scene.app, call } as never, key)[at] as Surface
    await begin(renewed)
    surfaces[at] = renewed
  }
  const tally: ReferenceTally = {
    worlds: 0,
    devices: 0,
    refused: 0,
    references: 0,
    calls: 0,
    reached: 0,
  }

  /** Sends a birth of every cell through the inbox, and waits until the stored devices have settled. */
  const announce = async (announced: readonly Announced[], expected: readonly Expected[]) => {
    for (const [at, { name, cellId, link }] of cells.entries()) {
      const own = announced.filter(({ cell }) => cell === at)
      link.devices = []
      link.executed.length = 0
      for (const { id, name: called } of own) link.add(id, { name: called })
      const devices = own.map(({ id, name: called }) =>
        createDeviceFacts(called, { device_id: id, profile: cart.id, site: SITE, envelope: {} }),
      )
      const body = announceDevices(devices, { name, device_profiles: [toProfileFacts(cart)] })
      receive('birth', cellId, Buffer.from(JSON.stringify(envelope(cellId, 1, 'birth', body))))
      receive('state', cellId, Buffer.from(JSON.stringify(envelope(cellId, 1, 'state', READY))))
    }
    const wanted = JSON.stringify(expected.map(({ id, cells: on }) => [id, on]).sort())
    let found = ''
    await waitUntil('the devices are stored', () => {
      const listed = scene.devices
        .list()
        .map(({ id, cellId, alsoOn }) => [
          id,
          [cellId, ...alsoOn].map(each => cells.findIndex(cell => cell.cellId === each)).sort(),
        ])
      found = JSON.stringify(listed.sort())
      return found === wanted
    }).catch(() => {
      throw new Error(`${found} are stored, expected ${wanted}`)
    })
    // of hardware that two cells announce under two names, the name of its cell counts
    return expected.map(one => ({ ...one, name: scene.devices.get(one.id)?.facts.name ?? '' }))
  }

  /** Devices that did something; waits for the others, whose cells are not part of an answer. */
  const takeExecuted = async (wanted: readonly string[]): Promise<string[]> => {
    const count = () => cells.reduce((sum, { link }) => sum + link.executed.length, 0)
    await waitUntil('the devices have done it', () => count() >= wanted.length).catch(() => {})
    return cells.flatMap(({ link }) => link.executed.splice(0).map(([id]) => id))
  }

  /** A key whose emergency calls are not used up by those of earlier worlds. */
  const createKey = async (): Promise<string> => {
    const { tenantId = '', personId = '' } = (await scene.keys.authenticate(key)) ?? {}
    const spec = { tenantId, personId, tier: 'pro', kind: 'person' } as const
    return (await scene.keys.create({ ...spec, roles: ['operator_admin'] }, BY)).secret
  }

  /** Plays one world; throws at the first reference that reaches what it does not name. */
  const play = async (draws: readonly Drawn[]): Promise<void> => {
    tally.worlds++
    const cellIds = cells.map(({ cellId }) => cellId)
    const announced = draws.map(each => realise(each, draws, cellIds, tally.worlds))
    const expected = await announce(announced, judge(announced, cellIds))
    tally.devices += expected.length
    tally.refused += announced.length - expected.reduce((sum, each) => sum + each.cells.length, 0)
    // a label is text for people, and no name
    const [first] = expected
    if (first !== undefined)
      await scene.devices.setLabels(first.id, { name: 'rover-1', owner: PLAIN[0] ?? '' }, BY)
    const own = await createKey()
    await renewConversation()
    const asks = listReferences(announced, cellIds).flatMap(each => listAsks(each, expected, own))
    // calls that must reach no device are made at once; their answers are checked one by one
    const made = await Promise.allSettled(
      asks.filter(({ reached }) => reached.length === 0).map(({ make }) => make()),
    )
    for (const each of made) if (each.status === 'rejected') throw each.reason
    const noticed = await takeExecuted([])
    if (noticed.length > 0) throw new Error(`a refused call reached ${JSON.stringify(noticed)}`)
    for (const { make } of asks.filter(({ reached }) => reached.length > 0)) await make()
  }

  /** Every call with one reference, on every surface. */
  const listAsks = (
    reference: string,
    expected: readonly Expected[],
    emergencyKey: string,
  ): Ask[] => {
    const named = expected.filter(one => isNamedBy(one, reference)).map(({ id }) => id)
    const halted = expected.filter(one => isHaltedBy(one, reference))
    const ids = halted.map(({ id }) => id)
    const one = named.length === 1 ? named : []
    const every = halted.flatMap(({ id, cells: on }) => on.map(() => id))
    const ref = encodeURIComponent(reference)
    const refusal = named.length > 1 ? 409 : 404
    const say = (what: string, of: unknown) => {
      const world = JSON.stringify(expected)
      return `${what} of ${JSON.stringify(reference)}: ${JSON.stringify(of)}; devices: ${world}`
    }
    const expectSame = (what: string, found: readonly string[], wanted: readonly string[]) => {
      tally.calls++
      tally.reached += found.length
      const [is, should] = [found, wanted].map(ids => JSON.stringify(ids.toSorted()))
      if (is !== should) throw new Error(say(what, { found, wanted }))
    }
    const expectRefusal = (what: string, { status, json }: Answer) => {
      if (status !== refusal) throw new Error(say(what, status))
      if (named.length > 1)
        for (const id of named.slice(0, 10))
          if (!json.error.message.includes(id)) throw new Error(say(what, json.error.message))
    }
    /** Calls without devices in `reached` are made at the same time. */
    const ask = (what: string, reached: readonly string[], make: () => Promise<void>): Ask => ({
      reached,
      make: async () => {
        await make()
        if (reached.length === 0) tally.calls++
        else expectSame(what, await takeExecuted(reached), reached)
      },
    })
    const answer = (
      what: string,
      find: () => Promise<string[]>,
      wanted: readonly string[],
    ): Ask => ({
      reached: [],
      make: async () => expectSame(what, await find(), wanted),
    })

    const looks = [
      ['run', () => call(key, 'POST', `/v1/devices/${ref}/commands`, { command: 'look' })],
      ['skill', () => call(key, 'POST', '/v1/skills/device-command', look(reference))],
    ] as const
    const stops = [
      ['stop', () => call(emergencyKey, 'POST', `/v1/devices/${ref}/stop`, {})],
      ['run stop', () => call(key, 'POST', `/v1/devices/${ref}/commands`, { command: 'stop' })],
    ] as const
    // the five of them in turn: each passes the same pipeline
    const surface = surfaces[tally.references++ % surfaces.length] as Surface
    const askBy = async (input: object) => {
      keepAlive()
      await surface.call('device-command', input, { key, callKey: randomUUID() })
    }
    const onCells = cells
      .filter(({ name, cellId }) => name === reference || cellId === reference)
      .map(({ cellId }) => cellId)
    const site = reference === SITE && expected.length > 0 ? [SITE] : []
    return [
      ...looks.map(([what, make]) =>
        ask(what, one, async () => {
          const made = await make()
          if (one.length === 0) expectRefusal(what, made)
        }),
      ),
      answer(
        'label',
        async () => idsOf(await call(key, 'PUT', `/v1/devices/${ref}/labels`, { labels: {} })),
        one,
      ),
      answer(
        'plan',
        async () => idsOf(await call(key, 'POST', `/v1/devices/${ref}/plan`, { command: 'look' })),
        one,
      ),
      answer(
        'swarm',
        () =>
          scene.views.swarm.listMembers({ members: [reference] }).then(
            () => [...one],
            refused => (isAmbiguous(refused) ? [] : [String(refused)]),
          ),
        one,
      ),
      ...stops.map(([what, make]) =>
        ask(what, every, async () => {
          const { status, json } = await make()
          if (every.length === 0 && status !== 404) throw new Error(say(what, status))
          if (halted.length > 1)
            expectSame(
              `outcomes of ${what}`,
              json.devices.map((each: { device_id: string }) => each.device_id),
              ids,
            )
        }),
      ),
      ask(`stop by ${surface.name}`, every, () => askBy(stop(reference))),
      ask(`look by ${surface.name}`, one, () => askBy(look(reference))),
      ...(
        [
          [{ device: reference }, ids],
          [{ cell: reference }, onCells],
          [{ site: reference }, site],
          [{ target: reference }, [...ids, ...onCells, ...site]],
        ] as const
      ).map(([wanted, targets]) =>
        answer(`e-stop ${JSON.stringify(wanted)}`, () => listTargets(wanted), targets),
      ),
      ...cells.map(({ link }, at) =>
        answer(`local e-stop on ${at}`, () => listStoppedHere(link, reference), [
          ...link.devices
            .filter(
              ({ deviceId, name }) =>
                deviceId === reference || name.toLowerCase() === reference.toLowerCase(),
            )
            .map(({ deviceId }) => deviceId),
        ]),
      ),
      answer(
        'show',
        async () => {
          const shown = await call(key, 'GET', `/v1/devices/${ref}`)
          return named.length > 0 ? idsOf(shown) : []
        },
        named.length > 1 ? [] : one,
      ),
    ]
  }

  const listStoppedHere = async (link: FakeLink, reference: string): Promise<string[]> => {
    const here = link.devices.map(({ deviceId, name }) => ({ deviceId, name, ...STOPPABLE }))
    const { estop } = await cellWith(here)
    return estop.listDevices(reference).map(({ deviceId }) => deviceId)
  }

  const listTargets = async (wanted: object): Promise<string[]> => {
    const found: string[] = []
    try {
      for await (const { target } of findStopTargets(wanted, scene.views)) found.push(target ?? '')
    } catch (error) {
      if (!isAmbiguous(error)) throw error
    }
    return found
  }

  return { play, tally }
}

type Receive = (name: string, cellId: string, payload: Buffer) => unknown
type OpenBus = (parts: object) => { bus: { publish: (...message: unknown[]) => Promise<void> } }

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: fields are checked by the test
  json: any
}

/** A call with a reference, whose answer it checks. */
interface Ask {
  /** Devices that must do something, once on each of their cells. */
  reached: readonly string[]
  make(): Promise<void>
}

const idsOf = ({ status, json }: Answer): string[] => (status === 200 ? [json.device_id] : [])

const BY = { actor: 'test' }
const READY = { state: 'ready' }
const STOPPABLE = { site: SITE, isAvailable: true, atEstop: 'hold' as const }

const look = (device_id: string) => ({ device_id, command: 'look', dry_run: false })
const stop = (device_id: string) => ({ device_id, command: 'stop', dry_run: false })

const isAmbiguous = (error: unknown): boolean =>
  ['conflict', 'not_found'].includes((error as { code?: string }).code ?? '')

/** The device that a draw stands for. */
const realise = (
  { cell, id, name, plain, at }: Drawn,
  draws: readonly Drawn[],
  cellIds: readonly string[],
  world: number,
): Announced => {
  const other = draws[at % draws.length] as Drawn
  const nameOf = (each: Drawn): string => `${PLAIN[each.plain]}-w${world}`
  const idOf = (each: Drawn): string => createDeviceId(`${cellIds[each.cell]}:${nameOf(each)}`)
  const names: Record<NameKind, string> = {
    plain: nameOf({ plain } as Drawn),
    id: idOf(other),
    prefix: idOf(other).slice(0, 14),
    cell: CELLS[at % CELLS.length] as string,
    'cell id': cellIds[at % cellIds.length] as string,
    site: SITE,
  }
  const own = names[name]
  const ids: Record<IdKind, string> = {
    own: createDeviceId(`${cellIds[cell]}:${own}`),
    hardware: createDeviceId(`zigbee:${at % 2}:${world}`),
    stolen: idOf(other),
    word: nameOf(other),
    cell: cellIds[at % cellIds.length] as string,
    upper: idOf(other).toUpperCase(),
    short: idOf(other).slice(0, 20),
  }
  return { cell, id: ids[id], name: own }
}

/** Devices of these births, with their cells. */
const judge = (announced: readonly Announced[], cellIds: readonly string[]): Expected[] => {
  const isId = (text: string) => /^dev_[0-9a-f]{20}$/.test(text)
  const valid = announced.filter(({ cell, id, name }, at) => {
    const isRepeated = announced.slice(0, at).some(each => each.cell === cell && each.id === id)
    return isId(id) && !isRepeated && (!isId(name) || name === id)
  })
  const byId = Map.groupBy(valid, ({ id }) => id)
  return [...byId].map(([id, claims]) => {
    const maker = claims.find(({ cell, name }) => createDeviceId(`${cellIds[cell]}:${name}`) === id)
    const cells = maker === undefined ? claims.map(({ cell }) => cell) : [maker.cell]
    return { id, name: (maker ?? claims[0])?.name ?? '', cells: cells.sort() }
  })
}

const isNamedBy = ({ id, name }: Expected, reference: string): boolean =>
  reference === name || (/^dev_.{8,}$/.test(reference) && id.startsWith(reference))

const isHaltedBy = (one: Expected, reference: string): boolean =>
  isNamedBy(one, reference) || one.name.toLowerCase() === reference.toLowerCase()

/** Every text that could stand for a device here, and some that must not. */
const listReferences = (announced: readonly Announced[], cellIds: readonly string[]): string[] => {
  const texts = announced.flatMap(({ id, name }) => [
    id,
    name,
    name.toUpperCase(),
    name.slice(0, -1),
    id.slice(0, 12),
    id.slice(0, 11),
    id.slice(4),
  ])
  return [...new Set([...texts, ...CELLS, ...cellIds, SITE, 'rover-1'])]
}

/** Worlds of several devices. */
export const worlds = fc.array(drawn, { minLength: 3, maxLength: 7 })
