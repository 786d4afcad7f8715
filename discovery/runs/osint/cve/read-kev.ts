import * as z from 'zod'
import type { CveHit } from '../../../fields/cve-hit.ts'

const Entry = z.object({
  cveID: z.string(),
  vendorProject: z.string().nullish(),
  product: z.string().nullish(),
  vulnerabilityName: z.string().nullish(),
  dateAdded: z.string().nullish(),
  shortDescription: z.string().nullish(),
  requiredAction: z.string().nullish(),
  dueDate: z.string().nullish(),
  knownRansomwareCampaignUse: z.string().nullish(),
  cwes: z.array(z.string()).nullish(),
})

const Catalogue = z.object({ vulnerabilities: z.array(z.unknown()) })

/** An entry of the catalogue of exploited vulnerabilities. */
export interface KevEntry {
  title: string | null
  kev: NonNullable<CveHit['kev']>
  /** The entry as a record of its own, for one that no other source has. */
  hit: CveHit
  /** Text that is searched, in lower case. */
  text: string
}

/** The catalogue has several megabytes, which are reduced off the event loop. */
export const KEV_READING = {
  reader: { module: import.meta.url, name: 'readKev' },
  limits: { maxValues: 400_000 },
}

export const readKev = (body: unknown): Map<string, KevEntry> => {
  const entries = Catalogue.parse(body).vulnerabilities.flatMap(
    each => Entry.safeParse(each).data ?? [],
  )
  return new Map(entries.map(entry => [entry.cveID, toEntry(entry)]))
}

const toEntry = (entry: z.infer<typeof Entry>): KevEntry => {
  const [vendor = '', product = ''] = [entry.vendorProject ?? '', entry.product ?? '']
  const title = entry.vulnerabilityName?.slice(0, 512) ?? null
  const description = (entry.shortDescription ?? '').slice(0, 8192)
  const kev = {
    added_on: (entry.dateAdded ?? '').slice(0, 32),
    due_on: (entry.dueDate ?? '').slice(0, 32),
    ransomware: readUse(entry.knownRansomwareCampaignUse),
    action: (entry.requiredAction ?? '').slice(0, 2048),
  }
  return {
    title,
    kev,
    text: `${vendor} ${product} ${title ?? ''} ${description}`.toLowerCase(),
    hit: {
      id: entry.cveID.slice(0, 64),
      title,
      description,
      published_at: null,
      modified_at: null,
      status: null,
      severity: 'unknown',
      cvss: null,
      epss: null,
      kev,
      cwes: (entry.cwes ?? []).slice(0, 32).map(each => each.slice(0, 32)),
      affected: [
        {
          vendor: vendor.slice(0, 256),
          product: product.slice(0, 256),
          version_range: 'not stated',
        },
      ],
      fixed_in: null,
      references: [],
      sources: ['cisa-kev'],
    },
  }
}

/** An entry without the field says nothing about ransomware. */
const readUse = (use: string | null | undefined): boolean | null => (use ? use === 'Known' : null)
