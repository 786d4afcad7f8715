import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** CycloneDX document of npm, which refers to packages as `name@version`. */
interface Sbom {
  metadata: { component: { 'bom-ref': string; name: string } }
  components: readonly { 'bom-ref': string }[]
  dependencies: readonly { ref: string; dependsOn: readonly string[] }[]
}

/** `name@version` of the packages in `folders`. */
export const identifyPackages = (root: string, folders: Iterable<string>): Set<string> =>
  new Set(
    [...folders].map(folder => {
      const { name, version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
      return `${name}@${version}`
    }),
  )

/**
 * SBOM of `contained` alone. `npm sbom --omit dev` cannot make it: it also omits packages that are
 * shared with development dependencies.
 */
export const selectContained = (sbom: Sbom, contained: ReadonlySet<string>): Sbom => {
  const { component } = sbom.metadata
  const isKept = (ref: string): boolean => ref === component['bom-ref'] || contained.has(ref)
  return {
    ...sbom,
    // npm takes the name of the folder
    metadata: { ...sbom.metadata, component: { ...component, name: 'shoal' } },
    components: sbom.components.filter(each => isKept(each['bom-ref'])),
    dependencies: sbom.dependencies
      .filter(({ ref }) => isKept(ref))
      .map(each => ({ ...each, dependsOn: each.dependsOn.filter(isKept) })),
  }
}

/** Contained packages that the SBOM does not name. */
export const listUnnamed = ({ components }: Sbom, contained: ReadonlySet<string>): string[] => {
  const named = new Set(components.map(each => each['bom-ref']))
  return [...contained].filter(each => !named.has(each))
}
