/** A Debian package: its contents and dependencies. */
export interface Product {
  name: string
  description: string
  /** Installation folder. */
  root: string
  /** Files and folders of this project. */
  sources: string[]
  /** Programs that get a command of their own in /usr/bin. */
  commands: string[]
  /** Unit file, started under this name. */
  unit?: string
  /** Groups that the unit names; a Debian without udev lacks `render`, and the unit would not start. */
  groups?: string[]
  /** Configuration file in /etc/shoal with its initial text. */
  config?: { file: string; text: string }
  /** Packages of npm that stay out, or the only ones that go in. */
  without?: RegExp
  only?: RegExp
  depends: string[]
  /** Further fields of deb-control(5). */
  fields?: Record<string, string>
}

/** Engines for GPUs are large, and only cells with such a GPU need them. */
const GPU_ENGINES = /^@node-llama-cpp\/linux-.*(cuda|vulkan)/

const BASE = ['libc6 (>= 2.31)', 'libstdc++6']

/** A container or another init starts the programs as well. */
const SERVICE = { Recommends: 'systemd' }

const replaces = (name: string) => ({ Provides: name, Conflicts: name, Replaces: name })

export const products: Product[] = [
  {
    name: 'shoald',
    description: "shoal daemon: serves this machine's models to a fleet",
    root: '/opt/shoal',
    sources: [
      ...[
        'bin/shoald.mjs',
        'bin/launch.mjs',
        'bin/quick-load.mjs',
        'shared',
        'daemon',
        'devices',
        'discovery',
      ],
      ...['models/bundled.ts', 'models/bundled.json', 'models/weights', 'models/cards'],
      ...['docs', 'package.json', 'LICENSE', 'CHANGELOG.md'],
    ],
    commands: ['shoald'],
    unit: 'shoald.service',
    groups: ['video', 'render'],
    config: {
      file: 'shoald.yaml',
      text: '# Settings of the daemon; `shoald --print-config` shows every key with its meaning.\n',
    },
    without: GPU_ENGINES,
    depends: BASE,
    fields: SERVICE,
  },
  {
    name: 'shoald-gpu-engines',
    description: 'shoal daemon: engines for GPUs (CUDA, Vulkan)',
    root: '/opt/shoal',
    sources: [],
    commands: [],
    only: GPU_ENGINES,
    depends: ['shoald (= VERSION)'],
  },
  {
    name: 'shoal-coordinator',
    description: 'shoal coordinator: one service out of a fleet of cells',
    root: '/opt/shoal-coordinator',
    sources: [
      ...['bin/shoal-coordinator.mjs', 'bin/shoal.mjs', 'bin/launch.mjs', 'bin/quick-load.mjs'],
      ...['shared', 'coordinator', 'clients', 'devices', 'discovery', 'docs'],
      ...['systemd/remote-cells.conf', 'package.json', 'LICENSE', 'CHANGELOG.md'],
    ],
    commands: ['shoal-coordinator', 'shoal'],
    unit: 'shoal-coordinator.service',
    config: {
      file: 'coordinator.yaml',
      text: '# Settings; `shoal-coordinator --print-config` shows every key with its meaning.\n',
    },
    depends: BASE,
    // it has the command `shoal` itself
    fields: { ...SERVICE, ...replaces('shoal-cli') },
  },
  {
    name: 'shoal-cli',
    description: 'shoal command line: manages a coordinator from another machine',
    root: '/opt/shoal-cli',
    sources: [
      ...['bin/shoal.mjs', 'bin/launch.mjs', 'bin/quick-load.mjs', 'shared', 'clients/cli'],
      ...['docs/cli.md', 'package.json', 'LICENSE', 'CHANGELOG.md'],
    ],
    commands: ['shoal'],
    depends: BASE,
  },
]
