import * as z from 'zod'
import type { SourceSettings } from '../../../discovery/upstreams/settings.ts'
import type { Source, SourceKey } from '../../../discovery/upstreams/source.ts'
import { SOURCES } from '../../../discovery/upstreams/sources.ts'

const MIB = 1024 * 1024
const PROTOCOLS: readonly string[] = ['https:', 'http:', 'unix:', 'dns:', 'whois:']

/** True for an address that may be shown: it has no credentials and no parameters. */
const isSourceUrl = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || !PROTOCOLS.includes(url.protocol)) return false
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}

const SourceUrl = z.string().max(2048).refine(isSourceUrl, {
  error: 'must be an address without user, parameters and fragment, such as https://mirror.example',
})

/** `SHOAL_OPEN_METEO_URL` for the setting `url` of the source `open-meteo`. */
const environmentName = ({ id }: Source, setting: string): string =>
  `SHOAL_${id}_${setting}`.replaceAll('-', '_').toUpperCase()

const createKeySettings = (source: Source, { variable = 'API_KEY' }: SourceKey) => ({
  key: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .meta({ environment: environmentName(source, variable) })
    .describe(`Key for ${source.name}.`),
  key_file: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .meta({ environment: environmentName(source, `${variable}_FILE`) })
    .describe('File with that key, read for each request: a new one needs no restart.'),
})

const createOptions = (source: Source): z.ZodRawShape =>
  Object.fromEntries(
    Object.entries(source.options ?? {}).map(([name, schema]) => [
      name,
      (schema as z.ZodType).meta({ environment: environmentName(source, name) }),
    ]),
  )

const createSourceSettings = (source: Source) =>
  z
    .strictObject({
      url: SourceUrl.optional()
        .meta({ environment: environmentName(source, 'URL') })
        .describe(`Address of ${source.name}; ${source.url ?? 'not asked'} by default.`),
      ...(source.key === undefined || source.key.sharedWith !== undefined
        ? {}
        : createKeySettings(source, source.key)),
      ...createOptions(source),
    })
    .prefault({})

const Sources = z.strictObject(
  Object.fromEntries(SOURCES.map(source => [source.id, createSourceSettings(source)])),
) as unknown as z.ZodType<Record<string, SourceSettings>>

/** Outside sources that lookups read; see docs/upstreams.md. */
export const UpstreamsConfig = z.strictObject({
  egress: z
    .enum(['on', 'off'])
    .default('on')
    .meta({ environment: 'SHOAL_EGRESS' })
    .describe(
      'Requests to outside sources; with off, answers come only from the cache, and cells download no models that operators added.',
    ),
  auto_run: z
    .enum(['on', 'off'])
    .default('off')
    .describe('Lookups that run by themselves, such as repo-releases; off by default.'),
  contact: z
    .string()
    .max(300)
    .regex(/^(https?:\/\/|mailto:)[\x21-\x27\x2a-\x7e]+$/)
    .optional()
    .meta({ environment: 'SHOAL_CONTACT_URL' })
    .describe(
      'Page or mailto: address of the operator, sent with each request; provider.url or public.base_url by default. Some sources need it.',
    ),
  cache_bytes: z
    .int()
    .min(MIB)
    .max(64 * 1024 * MIB)
    .default(256 * MIB)
    .describe('Disk space for their answers, in state_dir/upstreams.'),
  sources: Sources.prefault({}),
})
export type UpstreamsConfig = z.output<typeof UpstreamsConfig>

/** Place of the operator, for weather, air, sun and the like when a caller names none. */
export const SiteConfig = z
  .strictObject({
    lat: z.number().min(-90).max(90).optional().describe('Latitude of the site, degrees.'),
    lon: z.number().min(-180).max(180).optional().describe('Longitude of the site, degrees.'),
    pv_tilt_deg: z
      .number()
      .min(0)
      .max(90)
      .default(30)
      .meta({ environment: 'SHOAL_PV_TILT_DEG' })
      .describe('Tilt of the solar panels from the horizontal.'),
    pv_azimuth_deg: z
      .number()
      .min(-180)
      .max(180)
      .default(0)
      .meta({ environment: 'SHOAL_PV_AZIMUTH_DEG' })
      .describe('Direction of the solar panels: 0 is south, -90 east, 90 west.'),
  })
  .refine(({ lat, lon }) => (lat === undefined) === (lon === undefined), {
    path: ['lat'],
    error: 'site.lat and site.lon must be set together',
  })
export type SiteConfig = z.output<typeof SiteConfig>
