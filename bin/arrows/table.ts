/** Imports that a folder must not have, with the reason that the linter shows. */
interface ForbiddenImport {
  /** Patterns of import paths, as gitignore has them. */
  group: readonly string[]
  message: string
}

/** Files, and what none of them imports. */
interface ImportScope {
  includes: readonly string[]
  forbidden: readonly ForbiddenImport[]
}

const DAEMON = {
  group: ['**/daemon/**'],
  message: 'only the daemon and the tests import the daemon',
}
const COORDINATOR = {
  group: ['**/coordinator/**'],
  message: 'only the coordinator and the tests import the coordinator',
}
const CLIENTS = {
  group: ['**/clients/**'],
  message: 'programs that serve never import clients',
}
const DEVICES = { group: ['**/devices/**'], message: 'this folder does not know devices' }
const DISCOVERY = { group: ['**/discovery/**'], message: 'this folder does not know discovery' }
const MODELS = { group: ['**/models/**'], message: 'only the daemon knows the bundled weights' }
const TESTS = { group: ['**/test/**', '**/bench/**'], message: 'products never import tests' }
const ENGINE = {
  group: ['node-llama-cpp'],
  message: 'the engine is loaded only in its own child process',
}
const BLOCKING = {
  group: ['systeminformation'],
  message: 'it blocks and starts programs: only the helper process loads it',
}

/** Domains of the coordinator, from the inside out: each imports only those before it. */
export const DOMAINS = [
  'base',
  'budgets',
  'store',
  'replicas',
  'leader',
  'secrets',
  'events',
  'signing',
  'audit',
  'people',
  'keys',
  'registers',
  'quota',
  'visitors',
  'idempotency',
  'responses',
  'fleet',
  'catalogue',
  'enrolment',
  'devices',
  'estop',
  'gates',
  'control',
  'swarm',
  'agents',
  'queue',
  'rampup',
  'flows',
  'schedules',
  'outbound',
  'services',
  'upstreams',
  'planning',
  'tasks',
  'conversations',
  'webhooks',
  'discovery',
  'knowledge',
  'business',
  'backup',
  'reports',
] as const

/** Folders around the domains, from the inside out; a later one imports the earlier ones. */
export const AROUND = [
  'tls',
  'broker',
  'link',
  'metrics',
  'operations',
  'skills',
  'http',
  'speakers',
  'mcp',
  'a2a',
  'admin',
  'assembly',
] as const

/** Surfaces that stand further in than operations and do not know them either way. */
const PORTS = ['tls', 'broker', 'link', 'metrics']

const OUTSIDE_COORDINATOR = [DAEMON, CLIENTS, MODELS, TESTS, ENGINE]

/** What the coordinator uses of the folder `devices`, which is not `coordinator/devices`. */
const DEVICE_MODEL = [
  'device-id.ts',
  'profile.ts',
  'properties.ts',
  'envelope/**',
  'links/**',
  'profiles/**',
]

/** What the coordinator uses of the folder `discovery`, which is not `coordinator/discovery`. */
const DISCOVERY_MODEL = [
  'load.ts',
  'module.ts',
  'modules.ts',
  'scan-run.ts',
  'lookup-run.ts',
  'scope.ts',
  'merge-scopes.ts',
  'sighting.ts',
  'modules/**',
  'net/**',
  'registry/**',
  'runs/**',
  'upstreams/**',
]

/** `shared/metrics` is not `coordinator/metrics`. */
const folders = (names: readonly string[]): string[] => [
  ...names.map(name => `**/${name}/**`),
  '!**/shared/**',
  ...DEVICE_MODEL.map(part => `!**/devices/${part}`),
  ...DISCOVERY_MODEL.map(part => `!**/discovery/${part}`),
]

const createCoordinatorScope = (name: string, more: readonly ForbiddenImport[]): ImportScope => ({
  includes: [`coordinator/${name}/**`],
  forbidden: [...OUTSIDE_COORDINATOR, ...more],
})

const PROGRAM = {
  group: ['**/main.ts', '**/serve.ts'],
  message: 'no part imports the program that opens it',
}

const laterDomains = (name: string, at: number): ForbiddenImport[] => {
  const later = DOMAINS.slice(at + 1)
  if (later.length === 0) return []
  const earlier = DOMAINS.slice(0, at)
  const message = `${name} imports only ${earlier.join(', ') || 'no domain'}`
  return [{ group: folders(later), message }]
}

const aroundDomains: ForbiddenImport = {
  group: folders(AROUND),
  message: 'a domain never imports operations or surfaces',
}

const domainScopes = DOMAINS.map((name, at) =>
  createCoordinatorScope(name, [aroundDomains, PROGRAM, ...laterDomains(name, at)]),
)

const aroundScopes = AROUND.map((name, at) => {
  const later = AROUND.slice(at + 1)
  const isOperation = name === 'operations' || name === 'skills'
  const group = folders([...later, ...(isOperation ? PORTS : [])])
  const message = isOperation
    ? 'skills and operations never import a surface'
    : `${name} stands further in`
  return createCoordinatorScope(name, [
    ...(name === 'assembly' ? [] : [PROGRAM]),
    ...(later.length === 0 ? [] : [{ group, message }]),
  ])
})

/** A domain that the table does not name stands last: it may import every other one. */
const newDomains: ImportScope = {
  includes: ['coordinator/*/**', ...[...DOMAINS, ...AROUND].map(name => `!coordinator/${name}/**`)],
  forbidden: [...OUTSIDE_COORDINATOR, aroundDomains, PROGRAM],
}

export const ARROWS: readonly ImportScope[] = [
  {
    includes: ['shared/**'],
    forbidden: [DAEMON, COORDINATOR, CLIENTS, DEVICES, DISCOVERY, MODELS, TESTS, ENGINE],
  },
  {
    includes: ['discovery/**'],
    forbidden: [DAEMON, COORDINATOR, CLIENTS, DEVICES, MODELS, TESTS, ENGINE],
  },
  {
    includes: ['devices/**'],
    forbidden: [DAEMON, COORDINATOR, CLIENTS, DISCOVERY, MODELS, TESTS, ENGINE],
  },
  {
    includes: ['daemon/**', '!daemon/inference/child/**', '!daemon/helper/child/**'],
    forbidden: [COORDINATOR, CLIENTS, TESTS, BLOCKING, ENGINE],
  },
  { includes: ['daemon/helper/child/**'], forbidden: [COORDINATOR, CLIENTS, TESTS, ENGINE] },
  {
    includes: ['daemon/inference/child/**'],
    forbidden: [COORDINATOR, CLIENTS, DEVICES, DISCOVERY, TESTS],
  },
  {
    includes: ['clients/**'],
    forbidden: [DAEMON, COORDINATOR, DEVICES, DISCOVERY, MODELS, TESTS, ENGINE],
  },
  { includes: ['coordinator/*.ts'], forbidden: OUTSIDE_COORDINATOR },
  ...domainScopes,
  ...aroundScopes,
  newDomains,
]

/** The table as Biome takes it. An override replaces the options of another, so each has them all. */
export const listOverrides = (): object[] =>
  ARROWS.map(({ includes, forbidden }) => ({
    includes,
    linter: {
      rules: {
        style: {
          noRestrictedImports: { level: 'error', options: { patterns: forbidden } },
        },
      },
    },
  }))
