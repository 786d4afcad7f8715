import { GateDefinition } from '../../coordinator/access/gates/definition.ts'
import { GateKeeper } from '../../coordinator/access/gates/gates.ts'
import { addKey } from '../../coordinator/access/keys/issue.ts'
import { Keys } from '../../coordinator/access/keys/keys.ts'
import { addPerson } from '../../coordinator/access/people/people.ts'
import { addTenant } from '../../coordinator/access/people/tenants.ts'
import type { KeySpec } from '../../coordinator/kernel/declaration/key.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import { createSigner, generatePrivateKey, type Signer } from '../../shared/signing.ts'
import type { Approval } from '../../shared/wire/approval.ts'
import { silent } from './cell.ts'
import {
  type Actor,
  APPROVAL_MINUTES,
  approveIn,
  type Belief,
  isOpen,
  mayJudge,
  mayUse,
  REQUEST_MINUTES,
  type Seats,
} from './gate-oracle.ts'
import { type Random, randomOf } from './random.ts'

const MINUTE_MS = 60_000
const ROLES = ['builder', 'reviewer', 'architect', 'legal', 'operator_admin'] as const
const KINDS = ['person', 'person', 'person', 'ai_agent', 'ci_pipeline'] as const
const TENANT = 'proof'

/** Actions that people request in the histories, and their outcomes. */
export interface GateGame {
  /** Seats of the gates by id. */
  gates: Readonly<Record<string, Seats>>
  plans: readonly object[]
  /** Roles that the people have. */
  roles: readonly (typeof ROLES)[number][]
  /** Receives each approval that was used for a plan. */
  onUsed(approval: Approval, belief: Belief): void
  /** Runs after each step of a history, and with `isLast` after the last one. */
  afterStep(random: Random, isLast: boolean): Promise<void>
}

/** Requests whose approval leads to nothing further. */
const PLAIN_GAME: GateGame = {
  gates: {
    'gate.one': [['reviewer']],
    'gate.either': [['reviewer', 'legal']],
    'gate.two': [['architect'], ['operator_admin']],
    'gate.three': [['reviewer'], ['reviewer', 'architect'], ['operator_admin']],
  },
  plans: [{ release: 1 }, { release: 2 }, { release: 1, force: true }],
  roles: ROLES,
  onUsed: () => {},
  afterStep: async () => {},
}

interface HistoryTally {
  histories: number
  steps: number
  used: number
  refused: number
}

interface HistoryOptions {
  count: number
  seed: number
  /** Creates the game; plain requests by default. */
  createGame?: (signer: Signer, clock: { readonly now: number }) => Promise<GateGame>
}

/**
 * Runs so many random histories of a few people at the gates against a store, and compares each
 * answer with an oracle. Throws at the first difference, with the seed of that history.
 */
export const runHistories = async (
  store: Store,
  { count, seed, createGame = async () => PLAIN_GAME }: HistoryOptions,
): Promise<HistoryTally> => {
  const clock = { now: Date.now() }
  const signer = createSigner(generatePrivateKey())
  const game = await createGame(signer, clock)
  const people = await makePeople(store, game, randomOf(seed))
  const keys = new Keys({ store, logger: { warn: () => {} }, now: () => clock.now })
  const ledger = { ...store.ledger, nowMs: async () => clock.now }
  const gates = new GateKeeper({
    logger: silent,
    runtime: systemRuntime,
    store: { ledger },
    definitions: defineGates(game),
    signer,
    addEvents: async () => {},
    now: () => clock.now,
  })
  const tally: HistoryTally = { histories: 0, steps: 0, used: 0, refused: 0 }
  for (let n = 0; n < count; n++) {
    const own = seed + n
    try {
      await history({ game, gates, keys, people, clock, tally }, randomOf(own), `history ${own}`)
    } catch (cause) {
      throw new Error(`history ${own} does not hold`, { cause })
    }
    tally.histories++
    // a few keys are revoked in each; new people take their place
    if (people.filter(({ revoked }) => !revoked).length < 12)
      people.splice(0, people.length, ...(await makePeople(store, game, randomOf(own))))
  }
  keys.close()
  return tally
}

const defineGates = ({ gates }: GateGame) =>
  Object.fromEntries(
    Object.entries(gates).map(([id, seats]) => [
      id,
      GateDefinition.parse({
        purpose: 'proof',
        approvals: seats.map(seat => [...seat]),
        request_minutes: REQUEST_MINUTES,
        approval_minutes: APPROVAL_MINUTES,
      }),
    ]),
  )

interface Scene {
  game: GateGame
  gates: GateKeeper
  keys: Keys
  people: Actor[]
  clock: { now: number }
  tally: HistoryTally
}

const history = async (scene: Scene, random: Random, subject: string): Promise<void> => {
  const { clock, tally, people, game } = scene
  const beliefs = new Map<string, Belief>()
  const cast = Array.from({ length: 5 }, () => random.pick(people))
  const steps = 6 + random.randomBelow(20)
  for (let step = 0; step < steps; step++) {
    tally.steps++
    clock.now +=
      random.randomBelow(8) === 0 ? random.randomBelow(40) * MINUTE_MS : random.randomBelow(1000)
    const actor = random.pick(cast)
    const id = beliefs.size === 0 ? undefined : random.pick([...beliefs.keys()])
    const action = id === undefined ? 0 : random.randomBelow(12)
    if (id === undefined || action === 0) await ask(scene, beliefs, actor, random, subject)
    else await act(scene, beliefs, id, actor, action, random)
    await game.afterStep(random, step === steps - 1)
  }
}

const callerOf = (person: Actor) => ({ person, tenantId: TENANT, by: { actor: 'proof' } })

const ask = async (
  { game, gates, clock }: Scene,
  beliefs: Map<string, Belief>,
  actor: Actor,
  random: Random,
  subject: string,
): Promise<void> => {
  const [gate, seats] = random.pick(Object.entries(game.gates))
  const plan = random.randomBelow(game.plans.length)
  const asked = { gateId: gate, subject, summary: 'proof', plan: game.plans[plan] }
  const { id } = await gates.request(asked, callerOf(actor))
  if (beliefs.has(id)) return
  for (const belief of beliefs.values())
    if (belief.gate === gate && belief.requester === actor.personId && isOpen(belief, clock.now))
      belief.end = 'superseded'
  const requester = actor.personId
  beliefs.set(id, { gate, seats, requester, plan, approvedBy: new Map(), askedAt: clock.now })
}

const act = async (
  scene: Scene,
  beliefs: Map<string, Belief>,
  id: string,
  actor: Actor,
  action: number,
  random: Random,
): Promise<void> => {
  const belief = beliefs.get(id) as Belief
  const { gates, clock, keys } = scene
  if (action <= 6) {
    const expected = approveIn(belief, actor, clock.now)
    await expectOutcome(gates.approve(id, callerOf(actor)), expected, 'approve')
  } else if (action === 7) {
    const may = mayJudge(belief, actor) && isOpen(belief, clock.now)
    await expectOutcome(gates.reject(id, callerOf(actor)), may, 'reject')
    if (may) belief.end = 'blocked'
  } else if (action === 8) {
    const may = actor.personId === belief.requester && isOpen(belief, clock.now)
    await expectOutcome(gates.withdraw(id, callerOf(actor)), may, 'withdraw')
    if (may) belief.end = 'withdrawn'
  } else if (action === 9 && random.randomBelow(6) === 0) {
    await keys.revoke(actor.keyId, 'all', { actor: 'proof' })
    actor.revoked = true
  } else await use(scene, id, belief, random)
}

const use = async (
  { game, gates, clock, people, tally }: Scene,
  id: string,
  belief: Belief,
  random: Random,
): Promise<void> => {
  const honest = random.randomBelow(4) > 0
  const owner = people.find(({ personId }) => personId === belief.requester)
  const user = honest && owner ? owner : random.pick(people)
  const plan = random.randomBelow(4) === 0 ? random.randomBelow(game.plans.length) : belief.plan
  const may = mayUse(belief, user, plan, clock.now)
  let approval: Approval | undefined
  const runInTransaction = async (_trx: unknown, given: Approval): Promise<void> => {
    approval = given
  }
  const used = gates.consume(id, callerOf(user), { plan: game.plans[plan], runInTransaction })
  await expectOutcome(used, may, 'use')
  if (may) belief.end = 'consumed'
  if (approval !== undefined) game.onUsed(approval, belief)
  tally[may ? 'used' : 'refused']++
}

const expectOutcome = async (
  outcome: Promise<unknown>,
  allowed: boolean,
  what: string,
): Promise<void> => {
  const error = await outcome.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (allowed === (error === undefined)) return
  throw new Error(allowed ? `${what} was refused` : `${what} went through`, { cause: error })
}

const makePeople = (store: Store, game: GateGame, random: Random): Promise<Actor[]> =>
  store.ledger.sealed.write(async trx => {
    const [by, now] = [{ actor: 'proof' }, Date.now()]
    const known = await trx
      .selectFrom('tenants')
      .select('id')
      .where('id', '=', TENANT)
      .executeTakeFirst()
    if (known === undefined) await addTenant(trx, { id: TENANT, name: TENANT }, by, now)
    const actors: Actor[] = []
    for (let n = 0; n < 16; n++) {
      const person = await addPerson(trx, { tenantId: TENANT, name: `person ${n}` }, by, now)
      // some people hold two keys with different roles
      for (let key = 0; key <= random.randomBelow(2); key++) {
        const roles = [random.pick(game.roles), random.pick(game.roles)]
        const spec = { tenantId: TENANT, personId: person.id, tier: 'enterprise' as const, roles }
        const kind = random.pick(KINDS)
        const issued = await addKey(trx, { ...spec, kind } satisfies KeySpec, by, now)
        actors.push({ personId: person.id, keyId: issued.key.id, kind, roles, revoked: false })
      }
    }
    return actors
  })
