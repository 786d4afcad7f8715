import type * as z from 'zod'
import type { ModuleReach } from '../shared/wire/findings.ts'
import type { Sighting } from './sighting.ts'

/** Domains on the agent card, which are the folders of `modules` (interface specification 2.7). */
export const MODULE_DOMAINS = [
  'network',
  'ai_ml',
  'environment',
  'osint',
  'infrastructure',
  'community',
  'satellite',
] as const
export type ModuleDomain = (typeof MODULE_DOMAINS)[number]

/** Circumstances of a sighting that are not in its row. */
export interface SightingContext {
  /** Cell that ran the module; undefined for modules that run on the coordinator. */
  cellId: string | undefined
}

interface ModuleFacts<I extends z.ZodObject> {
  /** Wire id, also the name of its file and of the skill: `mdns-scan`. */
  id: string
  /** Display name on the card. */
  name: string
  /** One sentence. */
  description: string
  tags: readonly string[]
  /** Callers: any key for public data, operators for what is on hosts and in networks. */
  access: 'key' | 'operator'
  /** Strict; only the parameters of the interface specification, with their defaults. */
  input: I
  examples: readonly z.input<I>[]
  /** Reason why its findings are the same everywhere; absent for a module that looks around. */
  constantBecause?: string
  /** Longest duration of a run, in seconds. */
  deadlineSeconds: number
}

/** How a module runs by itself, where the operator has switched that on. */
interface AutoRun {
  everySeconds: number
  /** True for a module that sends nothing to other machines; it runs without a scope. */
  isPassive: boolean
}

/**
 * A module that runs on cells, in a helper process, and yields rows. What is declared here is
 * loaded by the coordinator too and imports only zod and its neighbours; the program is
 * `runs/<domain>/<id>.ts`.
 */
export interface ScanModule<
  I extends z.ZodObject = z.ZodObject,
  R extends z.ZodObject = z.ZodObject,
> extends ModuleFacts<I> {
  reach: Exclude<ModuleReach, 'internet'>
  /** One finding, without the cell; snake case, units in the names, absent values are null. */
  row: R
  /** Undefined for a module that runs only when somebody asks. */
  autoRun?: AutoRun
  /** True for a part of `discover scan`, which is no skill and no tool of its own. */
  isPart?: true
  /** What a row says about things in the world; none for rows about the host itself. */
  observe?(row: z.output<R>, context: SightingContext): Sighting[]
}

/** A module that runs on the coordinator and reads public data. Its program is there as well. */
export interface LookupModule<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType>
  extends ModuleFacts<I> {
  reach: 'internet'
  /** Field `data` of the answer; snake case, units in the names, absent values are null. */
  data: O
  autoRun?: AutoRun
  observe?(data: z.output<O>, context: SightingContext): Sighting[]
}

export type DiscoveryModule = (ScanModule | LookupModule) & {
  /** Folder of the file. */
  domain: ModuleDomain
}

export const isScan = (module: ScanModule | LookupModule): module is ScanModule =>
  module.reach !== 'internet'

export const defineScan = <I extends z.ZodObject, R extends z.ZodObject>(
  module: ScanModule<I, R>,
): ScanModule => module as unknown as ScanModule

export const defineLookup = <I extends z.ZodObject, O extends z.ZodType>(
  module: LookupModule<I, O>,
): LookupModule => module as unknown as LookupModule
