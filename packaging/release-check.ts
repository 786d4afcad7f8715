import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { exitCode } from '../shared/errors.ts'
import { VERSION } from '../shared/version.ts'
import { main as buildPackages, listModules } from './build-deb.ts'
import { products } from './products.ts'
import { listObstacles, readReleaseFacts, tagOf } from './release-facts.ts'
import { identifyPackages, listUnnamed, selectContained } from './sbom.ts'

/*
 * `npm run release:check`: checks version, changelog, tag and checkout, then builds what a release
 * consists of into `dist`: the Debian packages, their checksums and the SBOM.
 */

const root = resolve(import.meta.dirname, '..')
const OUT = join(root, 'dist')

export const main = async (): Promise<void> => {
  const obstacles = listObstacles(readReleaseFacts(root, new Date()))
  if (obstacles.length > 0) return refuse(obstacles)
  rmSync(OUT, { recursive: true, force: true })
  mkdirSync(OUT)
  const missing = [...buildSbom(), ...(await buildAndListMissing())]
  if (missing.length > 0) return refuse(missing)
  process.stdout.write(`shoal ${VERSION} can be released: git tag -a ${tagOf(VERSION)}\n`)
}

const refuse = (reasons: readonly string[]): void => {
  for (const reason of reasons) process.stderr.write(`${reason}\n`)
  process.stderr.write(`npm run release:check: ${VERSION} cannot be released yet\n`)
  process.exitCode = exitCode('conflict')
}

/** Writes the SBOM (CycloneDX) of the packages. Returns a line for each package that it lacks. */
const buildSbom = (): string[] => {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  const text = execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
  const contained = identifyPackages(root, products.flatMap(listModules))
  const sbom = selectContained(JSON.parse(text), contained)
  const file = `shoal-${VERSION}.cdx.json`
  writeFileSync(join(OUT, file), `${JSON.stringify(sbom, null, 2)}\n`)
  process.stdout.write(`${join(OUT, file)}\n`)
  return listUnnamed(sbom, contained).map(each => `${file}: ${each} is missing`)
}

/** Builds the packages. Returns a line for each missing one; engines for GPUs are optional. */
const buildAndListMissing = async (): Promise<string[]> => {
  await buildPackages(['--out', OUT])
  const built = readdirSync(OUT)
  return products
    .filter(({ only }) => only === undefined)
    .filter(({ name }) => !built.some(file => file.startsWith(`${name}_${VERSION}_`)))
    .map(({ name }) => `${name}: the package was not built`)
}
