import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { exitCode, ShoalError } from '../shared/errors.ts'
import { VERSION } from '../shared/version.ts'
import { closureOf, filesIn, importsOf } from './closure.ts'
import { type Product, products } from './products.ts'
import { scriptsFor } from './scripts.ts'

/*
 * `npm run package -- [--out dist] [--only shoald]`: Debian packages for the machine's own
 * architecture, from what `npm ci` has put here. The Node they run on is in them; a machine that
 * installs them needs neither npm nor a compiler.
 */

const root = resolve(import.meta.dirname, '..')
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

/** Engines for other systems: npm puts some of them here all the same. */
const FOREIGN_ENGINE = new RegExp(`^@node-llama-cpp/(?!linux-${process.arch}(-|$))`)

/** Files of packages that are not needed at run time: types, sources and headers. */
const USELESS = [
  /(\.d\.[cm]?ts|\.map|\.md|\.markdown|\/gitRelease\.bundle)$/,
  /\/(node-linux-\w+\/(include|share)|better-sqlite3\/(deps|src)|zod\/src)(\/|$)/,
  // native code for other systems
  new RegExp(`/prebuilds/(?!linux-${process.arch}\\b)`),
]

export const main = async (argv: string[]): Promise<void> => {
  try {
    await buildAll(readFlags(argv))
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    process.stderr.write(`npm run package: ${error.message}\n`)
    process.exitCode = exitCode(error.code)
  }
}

interface PackageFlags {
  /** Folder of the packages. */
  out: string
  wanted: Product[]
  /** Compression level of gzip, from 0 (none) to 9 (smallest packages). */
  level: string
}

const readFlags = (argv: string[]): PackageFlags => {
  const names = products.map(({ name }) => name)
  const options = {
    out: { type: 'string', default: 'dist' },
    only: { type: 'string', multiple: true, default: names },
    level: { type: 'string', default: '6' },
  } as const
  try {
    const { out, only, level } = parseArgs({ args: argv, options }).values
    const unknown = only.find(name => !names.includes(name))
    if (unknown !== undefined) throw new Error(`--only takes one of ${names.join(', ')}`)
    if (!/^\d$/.test(level)) throw new Error('--level takes 0 to 9')
    const wanted = products.filter(({ name }) => only.includes(name))
    return { out: resolve(out), wanted, level }
  } catch (cause) {
    const message = `${(cause as Error).message}; it takes --out FOLDER, --only NAME and --level N`
    throw new ShoalError('wrong_usage', message, { cause })
  }
}

const buildAll = async ({ out: folder, wanted, level }: PackageFlags): Promise<void> => {
  if (!existsSync(join(root, 'node_modules', CARRIED_NODE)))
    throw new ShoalError(
      'not_found',
      'the Node that goes into the packages is not here; run npm ci before',
    )
  if (spawnSync('dpkg-deb', ['--version']).error !== undefined)
    throw new ShoalError('not_found', 'dpkg-deb is not here; it is in the Debian package dpkg')
  mkdirSync(folder, { recursive: true })
  for (const product of wanted)
    process.stdout.write(
      `${isHere(product) ? await build(product, folder, level) : describeMissing(product)}\n`,
    )
  cpSync(join(root, 'packaging', 'install.sh'), join(folder, 'install.sh'))
  writeSums(folder)
}

/** False for engines that are a choice and were not brought. */
const isHere = (product: Product): boolean =>
  product.only === undefined || listModules(product).length > 0

const describeMissing = ({ name }: Product): string =>
  `${name} is left out: npm run gpu-engines brings its engines`

const build = async (product: Product, out: string, level: string): Promise<string> => {
  const architecture = ARCHITECTURES[process.arch]
  if (architecture === undefined) throw new Error(`there are no packages for ${process.arch}`)
  const stage = mkdtempSync(join(tmpdir(), `${product.name}-`))
  try {
    chmodSync(stage, 0o755)
    stageSources(product, stage)
    stageModules(product, stage)
    stageSystem(product, stage)
    await stageManual(product, stage)
    writeControl(product, stage, architecture)
    const file = join(out, `${product.name}_${VERSION}_${architecture}.deb`)
    const compression = level === '0' ? ['-Znone'] : ['-Zgzip', `-z${level}`]
    execFileSync('dpkg-deb', ['--root-owner-group', ...compression, '--build', stage, file])
    return file
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

const stageSources = ({ root: place, sources }: Product, stage: string): void => {
  for (const path of sources.flatMap(source => filesIn(root, source)))
    put(stage, join(place, path), readFileSync(join(root, path)))
}

const stageModules = (product: Product, stage: string): void => {
  for (const folder of listModules(product))
    cpSync(join(root, folder), join(stage, product.root, folder), {
      recursive: true,
      filter: path => !USELESS.some(each => each.test(path)) && !isNested(path, folder),
    })
  if (product.only !== undefined) return
  const bin = join(stage, product.root, 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(`../${CARRIED_NODE}/bin/node`, join(bin, 'node'))
}

const CARRIED_NODE = `node-linux-${process.arch}`

/** Folders of the packages of npm that go in. */
export const listModules = (product: Product): string[] => {
  const names =
    product.only === undefined
      ? [...importsOf(root, product.sources), CARRIED_NODE]
      : ['node-llama-cpp']
  return closureOf(root, names).filter(folder => isWanted(product, folder))
}

const isWanted = ({ without, only }: Product, folder: string): boolean => {
  const name = folder.slice('node_modules/'.length)
  if (FOREIGN_ENGINE.test(name)) return false
  return only === undefined ? without?.test(name) !== true : only.test(name)
}

/** Packages within a package are in the list themselves. */
const isNested = (path: string, folder: string): boolean =>
  path.slice(join(root, folder).length).startsWith('/node_modules')

const stageSystem = ({ root: place, commands, unit, config }: Product, stage: string): void => {
  for (const command of commands) put(stage, `/usr/bin/${command}`, wrapper(place, command), 0o755)
  if (config !== undefined) put(stage, `/etc/shoal/${config.file}`, config.text)
  if (unit === undefined) return
  const text = readFileSync(join(root, 'systemd', unit), 'utf8')
  put(stage, `/lib/systemd/system/${unit}`, text.replaceAll('/opt/shoal', place))
}

/** Manual pages, and the completion for the shells; they load most of the sources. */
const stageManual = async ({ commands }: Product, stage: string): Promise<void> => {
  if (commands.length === 0) return
  const { writeManual } = await import('./manual.ts')
  await writeManual(join(stage, 'usr', 'share'), commands)
}

const defaultsOf = (config: string, stateDir: string): string =>
  `: "\${SHOAL_CONFIG=${config}}" "\${STATE_DIRECTORY=${stateDir}}"
export SHOAL_CONFIG STATE_DIRECTORY
`

/**
 * Environment of the unit, so that `sudo shoald doctor` examines the same files as the service. The
 * configuration wins over STATE_DIRECTORY.
 */
const DEFAULTS: Record<string, string> = {
  shoald: defaultsOf('/etc/shoal/shoald.yaml', '/var/lib/shoald'),
  'shoal-coordinator': defaultsOf('/etc/shoal/coordinator.yaml', '/var/lib/shoal'),
}

const wrapper = (place: string, command: string): string =>
  `#!/bin/sh
${DEFAULTS[command] ?? ''}exec ${place}/node_modules/.bin/node ${place}/bin/${command}.mjs "$@"
`

const put = (stage: string, path: string, content: string | Buffer, mode = 0o644): void => {
  const file = join(stage, path)
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
  writeFileSync(file, content)
  chmodSync(file, mode)
}

const writeControl = (product: Product, stage: string, architecture: string): void => {
  const { name, description, depends, fields: more, config } = product
  const fields = {
    Package: name,
    Version: VERSION,
    Architecture: architecture,
    Maintainer: 'The shoal project <shoal@localhost>',
    'Installed-Size': String(Math.ceil(sizeOf(stage) / 1024)),
    Depends: depends.join(', ').replaceAll('VERSION', VERSION),
    ...more,
    Section: 'net',
    Priority: 'optional',
    Description: description,
  }
  const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}\n`)
  put(stage, '/DEBIAN/control', lines.join(''))
  if (config !== undefined) put(stage, '/DEBIAN/conffiles', `/etc/shoal/${config.file}\n`)
  for (const [script, text] of Object.entries(scriptsFor(product)))
    put(stage, `/DEBIAN/${script}`, text, 0o755)
}

const sizeOf = (path: string): number => {
  const facts = lstatSync(path)
  if (!facts.isDirectory()) return facts.size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

const writeSums = (folder: string): void => {
  const names = readdirSync(folder).filter(name => name.endsWith('.deb'))
  const lines = names.map(name => {
    const digest = hash('sha256', readFileSync(join(folder, name)), 'hex')
    return `${digest}  ${name}\n`
  })
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''))
}
