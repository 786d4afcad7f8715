import * as z from 'zod'
import { compareVersions } from './compare-versions.ts'
import { type CpeName, parseCpe } from './cpe-name.ts'

const Match = z.object({
  vulnerable: z.boolean(),
  criteria: z.string(),
  versionStartIncluding: z.string().nullish(),
  versionStartExcluding: z.string().nullish(),
  versionEndIncluding: z.string().nullish(),
  versionEndExcluding: z.string().nullish(),
})
type Match = z.infer<typeof Match>

const Node = z.object({
  operator: z.string(),
  negate: z.boolean().nullish(),
  cpeMatch: z.array(Match),
})
type Node = z.infer<typeof Node>

/** Condition of the NVD under which a vulnerability applies: nodes of products and versions. */
export const Configuration = z.object({
  operator: z.string().nullish(),
  negate: z.boolean().nullish(),
  nodes: z.array(Node),
})
export type Configuration = z.infer<typeof Configuration>

/** A product with the versions that are affected. */
interface Affected {
  vendor: string
  product: string
  range: string
  fixedIn: string | null
}

export const listAffected = (configurations: readonly Configuration[]): Affected[] =>
  configurations
    .flatMap(({ nodes }) => nodes.flatMap(({ cpeMatch }) => cpeMatch))
    .filter(({ vulnerable }) => vulnerable)
    .flatMap(match => {
      const cpe = parseCpe(match.criteria)
      if (cpe === undefined) return []
      const { vendor, product } = cpe
      return {
        vendor,
        product,
        range: printRange(match, cpe),
        fixedIn: match.versionEndExcluding?.slice(0, 64) ?? null,
      }
    })

const printRange = (match: Match, { version }: CpeName): string => {
  const bounds = [
    ['>=', match.versionStartIncluding],
    ['>', match.versionStartExcluding],
    ['<=', match.versionEndIncluding],
    ['<', match.versionEndExcluding],
  ].flatMap(([sign, bound]) => (bound ? [`${sign} ${bound}`] : []))
  if (bounds.length > 0) return bounds.join(', ').slice(0, 256)
  return version === '*' ? 'all versions' : version === '-' ? 'not stated' : version.slice(0, 256)
}

export interface InstalledProduct {
  vendor: string | undefined
  product: string
  version: string
}

/** What a condition says about an installed version. */
type Applicability = 'applies' | 'may_apply' | 'does_not_apply'

/**
 * Evaluates the configurations for one product. Other products of an AND, such as the hardware that
 * a firmware runs on, cannot be seen and are taken as present.
 */
export const judgeConfigurations = (
  configurations: readonly Configuration[],
  installed: InstalledProduct,
): Applicability => {
  if (configurations.length === 0) return 'may_apply'
  const isHit = configurations.some(({ nodes }) => nodes.some(node => judgeNode(node, installed)))
  return isHit ? 'applies' : 'does_not_apply'
}

const judgeNode = ({ cpeMatch, negate }: Node, installed: InstalledProduct): boolean => {
  const isMatch = cpeMatch.some(match => match.vulnerable && isVersionIn(match, installed))
  return negate === true ? !isMatch : isMatch
}

const isVersionIn = (match: Match, { vendor, product, version }: InstalledProduct): boolean => {
  const cpe = parseCpe(match.criteria)
  if (cpe === undefined || cpe.product !== product) return false
  if (vendor !== undefined && cpe.vendor !== vendor) return false
  const { versionStartIncluding: from, versionStartExcluding: after } = match
  const { versionEndIncluding: to, versionEndExcluding: before } = match
  if (cpe.version !== '*' && cpe.version !== '-')
    return compareVersions(version, joinUpdate(cpe)) === 0
  return (
    cpe.version !== '-' &&
    (!from || compareVersions(version, from) >= 0) &&
    (!after || compareVersions(version, after) > 0) &&
    (!to || compareVersions(version, to) <= 0) &&
    (!before || compareVersions(version, before) < 0)
  )
}

/** OpenSSH 9.8p1 is version 9.8 with update p1. */
const joinUpdate = ({ version, update }: CpeName): string =>
  update === '*' || update === '-' ? version : `${version}${update}`
