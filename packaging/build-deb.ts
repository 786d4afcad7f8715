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

/** Files of packages that are not needed at run time. */
const USELESS =
  /(\.d\.[cm]?ts|\.map|\.md|\.markdown)$|\/(node-linux-\w+\/(include|share)|better-sqlite3\/(deps|src))(\/|$)/

export const main = async (argv: string[]): Promise<void> => {
  try {
    const { out, wanted } = readFlags(argv)
    buildAll(out, wanted)
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    process.stderr.write(`npm run package: ${error.message}\n`)
    process.exitCode = exitCode(error.code)
  }
}

const readFlags = (argv: string[]): { out: string; wanted: Product[] } => {
  const options = { out: { type: 'string', default: 'dist' }, only: { type: 'string' } } as const
  try {
    const { out, only } = parseArgs({ args: argv, options }).values
    const wanted = products.filter(({ name }) => only === undefined || name === only)
    if (wanted.length > 0) return { out: resolve(out), wanted }
    throw new Error(`--only takes one of ${products.map(({ name }) => name).join(', ')}`)
  } catch (cause) {
    const { message } = cause as Error
    throw new ShoalError('wrong_usage', `${message}; it takes --out FOLDER and --only NAME`, {
      cause,
    })
  }
}

const buildAll = (folder: string, wanted: Product[]): void => {
  if (!existsSync(join(root, 'node_modules', `node-linux-${process.arch}`)))
    throw new ShoalError(
      'not_found',
      'the Node that goes into the packages is not here; run npm ci before',
    )
  if (spawnSync('dpkg-deb', ['--version']).error !== undefined)
    throw new ShoalError('not_found', 'dpkg-deb is not here; it is in the Debian package dpkg')
  mkdirSync(folder, { recursive: true })
  for (const product of wanted) process.stdout.write(`${build(product, folder)}\n`)
  cpSync(join(root, 'packaging', 'install.sh'), join(folder, 'install.sh'))
  writeSums(folder)
}

const build = (product: Product, out: string): string => {
  const architecture = ARCHITECTURES[process.arch]
  if (architecture === undefined) throw new Error(`there are no packages for ${process.arch}`)
  const stage = mkdtempSync(join(tmpdir(), `${product.name}-`))
  try {
    chmodSync(stage, 0o755)
    stageSources(product, stage)
    stageModules(product, stage)
    stageSystem(product, stage)
    stageManual(product, stage)
    writeControl(product, stage, architecture)
    const file = join(out, `${product.name}_${VERSION}_${architecture}.deb`)
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', stage, file])
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
  const names = importsOf(root, product.sources)
  const carried = `node-linux-${process.arch}`
  const all =
    product.only === undefined
      ? closureOf(root, [...names, carried])
      : closureOf(root, ['node-llama-cpp'])
  for (const folder of all.filter(folder => isWanted(product, folder)))
    cpSync(join(root, folder), join(stage, product.root, folder), {
      recursive: true,
      filter: path => !USELESS.test(path) && !isNested(path, folder),
    })
  if (product.only !== undefined) return
  const bin = join(stage, product.root, 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(`../${carried}/bin/node`, join(bin, 'node'))
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

/** Manual pages, and the completion for the shells. */
const stageManual = ({ commands }: Product, stage: string): void => {
  const program = join(root, 'packaging', 'manual.ts')
  if (commands.length > 0)
    execFileSync(process.execPath, [program, join(stage, 'usr', 'share'), ...commands])
}

/** Environment of the unit, so that `sudo shoald doctor` examines the same files as the service. */
const DEFAULTS: Record<string, string> = {
  shoald: `: "\${SHOAL_CONFIG=/etc/shoal/shoald.yaml}" "\${SHOAL_CELL_STATE_DIR=/var/lib/shoald}"
export SHOAL_CONFIG SHOAL_CELL_STATE_DIR
`,
  'shoal-coordinator': `: "\${SHOAL_CONFIG=/etc/shoal/coordinator.yaml}" "\${SHOAL_COORDINATOR_STATE_DIR=/var/lib/shoal}"
export SHOAL_CONFIG SHOAL_COORDINATOR_STATE_DIR
`,
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
  const { name, description, depends, config } = product
  const fields = {
    Package: name,
    Version: VERSION,
    Architecture: architecture,
    Maintainer: 'The shoal project <shoal@localhost>',
    'Installed-Size': String(Math.ceil(sizeOf(stage) / 1024)),
    Depends: depends.join(', ').replaceAll('VERSION', VERSION),
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
