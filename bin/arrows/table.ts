/** Imports that a folder of the tree must not have. `why` is shown with a refused import. */
interface Rule {
  /** Folder that the rule governs; the longest that contains a file decides. */
  folder: string
  /** Folders, files and packages from which nothing in `folder` is imported. */
  forbidden: readonly string[]
  why: string
}

const DAEMON = 'daemon'
const COORDINATOR = 'coordinator'
const CLIENTS = 'clients'
const DEVICES = 'devices'
const DISCOVERY = 'discovery'
const MODELS = 'models'
const TESTS = ['test', 'bench']
const ENGINE = 'node-llama-cpp'
/** Package that blocks and starts programs, so that only the helper process loads it. */
const BLOCKING = 'systeminformation'
/** Library of one surface, to whose types the tasks of the coordinator are converted there. */
const A2A = '@a2a-js/sdk'

/** Rules between the top-level folders. */
export const RULES: readonly Rule[] = [
  {
    folder: 'shared',
    forbidden: [DAEMON, COORDINATOR, CLIENTS, DEVICES, DISCOVERY, MODELS, ...TESTS, A2A, ENGINE],
    why: 'shared is what both sides use and knows neither',
  },
  {
    folder: DISCOVERY,
    forbidden: [DAEMON, COORDINATOR, CLIENTS, DEVICES, MODELS, ...TESTS, A2A, ENGINE],
    why: 'discovery imports only shared',
  },
  {
    folder: DEVICES,
    forbidden: [DAEMON, COORDINATOR, CLIENTS, DISCOVERY, MODELS, ...TESTS, A2A, ENGINE],
    why: 'devices imports only shared',
  },
  {
    folder: DAEMON,
    forbidden: [COORDINATOR, CLIENTS, ...TESTS, A2A, BLOCKING, ENGINE],
    why: 'the daemon imports shared, discovery, devices and models; native code is loaded in its child processes',
  },
  {
    folder: 'daemon/helper/child',
    forbidden: [COORDINATOR, CLIENTS, ...TESTS, A2A, ENGINE],
    why: 'the helper process imports what the daemon does, and programs that block',
  },
  {
    folder: 'daemon/inference/child',
    forbidden: [COORDINATOR, CLIENTS, DEVICES, DISCOVERY, ...TESTS, A2A],
    why: 'the engine process imports shared, models and the engine',
  },
  {
    folder: COORDINATOR,
    forbidden: [DAEMON, CLIENTS, MODELS, ...TESTS, A2A, ENGINE],
    why: 'the coordinator imports shared, discovery and devices, and the library of A2A only in surfaces/a2a',
  },
  {
    folder: 'coordinator/surfaces/a2a',
    forbidden: [DAEMON, CLIENTS, MODELS, ...TESTS, ENGINE],
    why: 'the surface imports what the coordinator does, and the library of A2A',
  },
  {
    folder: CLIENTS,
    forbidden: [DAEMON, COORDINATOR, DEVICES, DISCOVERY, MODELS, ...TESTS, ENGINE],
    why: 'clients import only shared',
  },
]

/** Areas of the coordinator, from the inside out: each imports itself and those before it. */
export const AREAS = [
  'kernel',
  'access',
  'calls',
  'fleet',
  'gateway',
  'devices',
  'discovery',
  'agents',
  'insight',
  'surfaces',
] as const

/** The program and the files that compose it: they import every area, and no area imports them. */
export const ROOT = ['main.ts', 'domains.ts', 'config.ts', 'assembly'] as const
