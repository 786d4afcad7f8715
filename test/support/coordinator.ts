import type { Logger } from 'pino'
import type { Test } from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { Keys } from '../../coordinator/access/keys/keys.ts'
import { createPerson } from '../../coordinator/access/people/people.ts'
import { createTenant } from '../../coordinator/access/people/tenants.ts'
import type { Views } from '../../coordinator/assembly/coordinator.ts'
import {
  type CoordinatorOptions,
  openCoordinator,
  parts,
} from '../../coordinator/assembly/coordinator.ts'
import { openRoutes } from '../../coordinator/assembly/open-routes.ts'
import type { OpenPart } from '../../coordinator/kernel/base/open-all.ts'
import { openStorePart } from '../../coordinator/kernel/store/open.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import { openReaders } from '../../coordinator/surfaces/a2a/open.ts'
import { BY, temporaryFolder, temporaryStore } from '../coordinator/kernel/store/temporary.ts'
import { config } from './app.ts'
import { silent } from './cell.ts'
import { placeSealingKey } from './secrets.ts'

export type Demo = Awaited<ReturnType<typeof bootstrap>>['keys'] & { stranger: string }

export interface SceneOptions extends CoordinatorOptions {
  config?: object
  /** Folder of the store. */
  folder?: string
  /** Silent by default. */
  logger?: Logger
  /** An empty store; one of its own by default. */
  store?: Store
  /** A store that was there before, with its people. */
  from?: { store: Store; demo: Demo }
  /** Views of the test, over those of the product. */
  views?: { [Name in keyof Views]?: object }
  /** Parts of the test, over those of the product; the surfaces get them. */
  given?: object
  /** Parts of the product that are not opened, or another one in their place. */
  swaps?: ReadonlyMap<OpenPart, OpenPart>
  /** Parts that are opened after those of the product. */
  moreParts?: readonly OpenPart[]
}

/**
 * The parts of the product over a real store with the demo people, and an operator of another
 * tenant; it listens nowhere. Allowances are wide, so that they decide nothing by chance.
 */
export const openScene = async (t: Pick<Test, 'teardown'>, options: SceneOptions = {}) => {
  const store =
    options.from?.store ??
    options.store ??
    (await temporaryStore(t, options.folder, { now: options.now }))
  const demo = options.from?.demo ?? (await populate(store))
  const settings = config({
    ...WIDE,
    // tests reach no public name
    upstreams: { egress: 'off' },
    state_dir: await temporaryFolder(t),
    ...options.config,
  })
  placeSealingKey(settings.state_dir)
  const { logger = silent } = options
  const opened = await openCoordinator(listFor(store, options), settings, logger, options)
  let closing: Promise<void> | undefined
  /** Stops as the product does; the store stays. */
  const close = (): Promise<void> => {
    closing ??= opened.close()
    return closing
  }
  t.teardown(close)
  return { ...opened, demo, store, close }
}

/** A part that gives nothing. */
export const openNothing: OpenPart = () => ({})

const WIDE = {
  tiers: Object.fromEntries(
    ['anonymous', 'free', 'pro', 'enterprise'].map(tier => [
      tier,
      { requests_per_minute: 100_000, requests_per_month: 'unlimited' },
    ]),
  ),
}

const listFor = (store: Store, { views, given, swaps, moreParts = [] }: SceneOptions) => {
  const probe = { trouble: () => undefined }
  const own = new Map<OpenPart, OpenPart>([[openStorePart, () => ({ store, probe })]])
  const list: OpenPart[] = parts.map(part => swaps?.get(part) ?? own.get(part) ?? part)
  const insert = (before: OpenPart, ...more: OpenPart[]) =>
    list.splice(list.indexOf(before), 0, ...more)
  insert(openReaders, () => given ?? {})
  insert(openRoutes, ...moreParts, (opened: { views: object }) => ({
    views: overlayViews(opened.views as Record<string, object>, views),
  }))
  return list as unknown as typeof parts
}

/** Members of a view that the test does not have are those of the product. */
const overlayViews = (views: Record<string, object>, over: SceneOptions['views'] = {}): object =>
  Object.fromEntries(
    Object.entries(over).map(([name, own]) => [name, withMembers(views[name] ?? {}, own)]),
  )

/** An object with some members of a test; those it has not are those of the product. */
export const withMembers = <T extends object, O extends object>(product: T, own: O): T & O =>
  new Proxy(product as T & O, {
    get: (target, name) => {
      if (name in own) return Reflect.get(own, name)
      const member = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })

const populate = async (store: Store): Promise<Demo> => {
  const { keys: demo } = await bootstrap(store)
  const keys = new Keys({ store, logger: silent })
  await createTenant(store.ledger, { id: 'other', name: 'other' }, BY)
  await createPerson(store.ledger, { id: 'eve', tenantId: 'other', name: 'eve' }, BY)
  const spec = { tenantId: 'other', personId: 'eve', tier: 'enterprise' as const }
  const stranger = await keys.create({ ...spec, roles: ['client', 'operator_admin'] }, BY)
  keys.close()
  return { ...demo, stranger: stranger.secret }
}
