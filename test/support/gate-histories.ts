import { GateDefinition } from '../../coordinator/gates/definition.ts'
import { GateKeeper } from '../../coordinator/gates/gates.ts'
import type { GatePerson } from '../../coordinator/gates/rules.ts'
import { addKey } from '../../coordinator/keys/issue.ts'
import type { KeySpec } from '../../coordinator/keys/key.ts'
import { Keys } from '../../coordinator/keys/keys.ts'
import { addPerson } from '../../coordinator/people/people.ts'
import { addTenant } from '../../coordinator/people/tenants.ts'
import type { Store } from '../../coordinator/store/store.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { type Random, randomOf } from './random.ts'

const MINUTE_MS = 60_000
const GATES = {
  'gate.one': { approvals: [['reviewer']] },
  'gate.either': { approvals: [['reviewer', 'legal']] },
  'gate.two': { approvals: [['architect'], ['operator_admin']] },
  'gate.three': { approvals: [['reviewer'], ['reviewer', 'architect'], ['operator_admin']] },
} as const
type GateName = keyof typeof GATES

const definitions = Object.fromEntries(
  Object.entries(GATES).map(([id, { approvals }]) => [
    id,
    GateDefinition.parse({
      purpose: 'proof',
      approvals: approvals.map(seat => [...seat]),
      request_minutes: 60,
      approval_minutes: 15,
    }),
  ]),
)

const ROLES = ['builder', 'reviewer', 'architect', 'legal', 'operator_admin'] as const
const KINDS = ['person', 'person', 'person', 'ai_agent', 'ci_pipeline'] as const
const PLANS = [{ release: 1 }, { release: 2 }, { release: 1, force: true }]
const TENANT = 'proof'

/** What a history should come to, counted in another way than the gates do it. */
interface Belief {
  gate: GateName
  requester: string
  plan: number
  approvedBy: Map<string, { key: Actor; at: number }>
  end?: 'blocked' | 'withdrawn' | 'superseded' | 'consumed'
  askedAt: number
  approvedAt?: number
}

interface Actor extends GatePerson {
  revoked: boolean
}

export interface HistoryTally {
  histories: number
  steps: number
  used: number
  refused: number
}

/**
 * Runs so many random histories of a few people at the gates against a store, and compares each
 * answer with an oracle. Throws at the first difference, with the seed of that history.
 */
export const runHistories = async (
  store: Store,
  { count, seed }: { count: number; seed: number },
): Promise<HistoryTally> => {
  const clock = { now: Date.now() }
  const people = await makePeople(store, randomOf(seed))
  const keys = new Keys({ store, logger: { warn: () => {} }, now: () => clock.now })
  const ledger = { ...store.ledger, nowMs: async () => clock.now }
  const gates = new GateKeeper({
    store: { ledger },
    definitions,
    signer: createSigner(generatePrivateKey()),
    addEvents: async () => {},
    now: () => clock.now,
  })
  const tally: HistoryTally = { histories: 0, steps: 0, used: 0, refused: 0 }
  for (let n = 0; n < count; n++) {
    const own = seed + n
    try {
      await history({ gates, keys, people, clock, tally }, randomOf(own), `history ${own}`)
    } catch (cause) {
      throw new Error(`history ${own} does not hold`, { cause })
    }
    tally.histories++
    // a few keys are revoked in each; new people take their place
    if (people.filter(({ revoked }) => !revoked).length < 12)
      people.splice(0, people.length, ...(await makePeople(store, randomOf(own))))
  }
  keys.close()
  return tally
}

interface Scene {
  gates: GateKeeper
  keys: Keys
  people: Actor[]
  clock: { now: number }
  tally: HistoryTally
}

const history = async (scene: Scene, random: Random, subject: string): Promise<void> => {
  const { clock, tally, people } = scene
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
  }
}

const callerOf = (person: Actor) => ({ person, tenantId: TENANT, by: { actor: 'proof' } })

const ask = async (
  { gates, clock }: Scene,
  beliefs: Map<string, Belief>,
  actor: Actor,
  random: Random,
  subject: string,
): Promise<void> => {
  const gate = random.pick(Object.keys(GATES) as GateName[])
  const plan = random.randomBelow(PLANS.length)
  const asked = { gateId: gate, subject, summary: 'proof', plan: PLANS[plan] }
  const { id } = await gates.request(asked, callerOf(actor))
  if (beliefs.has(id)) return
  for (const belief of beliefs.values())
    if (belief.gate === gate && belief.requester === actor.personId && isOpen(belief, clock.now))
      belief.end = 'superseded'
  beliefs.set(id, {
    gate,
    requester: actor.personId,
    plan,
    approvedBy: new Map(),
    askedAt: clock.now,
  })
}

const isOpen = (belief: Belief, now: number): boolean =>
  belief.end === undefined &&
  (belief.approvedAt === undefined
    ? now < belief.askedAt + 60 * MINUTE_MS
    : now < belief.approvedAt + 15 * MINUTE_MS)

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
  } else await use(scene, beliefs, id, random)
}

const mayJudge = (belief: Belief, actor: Actor): boolean =>
  actor.kind === 'person' &&
  actor.personId !== belief.requester &&
  GATES[belief.gate].approvals.flat().some(role => actor.roles.includes(role))

const approveIn = (belief: Belief, actor: Actor, now: number): boolean => {
  if (!mayJudge(belief, actor)) return false
  const lapsed = belief.end === undefined && !isOpen(belief, now)
  if (belief.approvedBy.has(actor.personId)) return !lapsed
  if (belief.approvedAt !== undefined || !isOpen(belief, now)) return false
  belief.approvedBy.set(actor.personId, { key: actor, at: now })
  const voters = [...belief.approvedBy.values()].map(({ key }) => key.roles)
  if (covers(GATES[belief.gate].approvals, voters)) belief.approvedAt = now
  return true
}

/** Every order in which people could take the seats, tried out. */
const covers = (
  seats: readonly (readonly string[])[],
  voters: readonly (readonly string[])[],
): boolean =>
  permutations(voters, seats.length).some(order =>
    order.every((roles, n) => roles.some(role => seats[n]?.includes(role))),
  )

const permutations = <T>(list: readonly T[], length: number): T[][] =>
  length === 0
    ? [[]]
    : list.flatMap((item, at) =>
        permutations(
          list.filter((_, other) => other !== at),
          length - 1,
        ).map(rest => [item, ...rest]),
      )

const use = async (
  { gates, clock, people, tally }: Scene,
  beliefs: Map<string, Belief>,
  id: string,
  random: Random,
): Promise<void> => {
  const belief = beliefs.get(id) as Belief
  const honest = random.randomBelow(4) > 0
  const owner = people.find(({ personId }) => personId === belief.requester)
  const user = honest && owner ? owner : random.pick(people)
  const plan = random.randomBelow(4) === 0 ? random.randomBelow(PLANS.length) : belief.plan
  const live = [...belief.approvedBy.values()].filter(({ key }) => !key.revoked)
  const may =
    belief.approvedAt !== undefined &&
    isOpen(belief, clock.now) &&
    plan === belief.plan &&
    user.personId === belief.requester &&
    covers(
      GATES[belief.gate].approvals,
      live.map(({ key }) => key.roles),
    )
  await expectOutcome(gates.consume(id, callerOf(user), { plan: PLANS[plan] }), may, 'use')
  if (may) belief.end = 'consumed'
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

const makePeople = (store: Store, random: Random): Promise<Actor[]> =>
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
        const roles = [random.pick(ROLES), random.pick(ROLES)]
        const spec = { tenantId: TENANT, personId: person.id, tier: 'enterprise' as const, roles }
        const kind = random.pick(KINDS)
        const issued = await addKey(trx, { ...spec, kind } satisfies KeySpec, by, now)
        actors.push({ personId: person.id, keyId: issued.key.id, kind, roles, revoked: false })
      }
    }
    return actors
  })
