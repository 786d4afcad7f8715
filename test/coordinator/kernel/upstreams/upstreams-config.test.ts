import t from 'tap'
import { CoordinatorConfig } from '../../../../coordinator/config.ts'
import { SOURCES } from '../../../../discovery/upstreams/sources.ts'
import { loadConfig } from '../../../../shared/config.ts'

const load = (env: Record<string, string>, ...argv: string[]) =>
  loadConfig({ program: 'shoal-coordinator', schema: CoordinatorConfig, argv, env })

t.test('Each source has its address and key in the environment', async t => {
  for (const { id, key } of SOURCES) {
    const name = `SHOAL_${id.replaceAll('-', '_').toUpperCase()}`
    const variable = `${name}_${key?.variable ?? 'API_KEY'}`
    const hasKey = key !== undefined && key.sharedWith === undefined
    const loaded = load({
      [`${name}_URL`]: 'http://127.0.0.1:8080/mirror',
      ...(hasKey ? { [variable]: 'sesame', [`${variable}_FILE`]: '/run/key' } : {}),
    })
    if (loaded.action !== 'run') throw new Error('it prints')
    t.match(loaded.config.upstreams.sources[id], {
      url: 'http://127.0.0.1:8080/mirror',
      ...(hasKey ? { key: 'sesame', key_file: '/run/key' } : {}),
    })
  }
})

t.test('The site and the switch for requests come from the environment too', async t => {
  const loaded = load({ SHOAL_SITE_LAT: '48.1', SHOAL_SITE_LON: '11.5', SHOAL_EGRESS: 'off' })
  t.match(loaded, {
    config: { site: { lat: 48.1, lon: 11.5, pv_tilt_deg: 30 }, upstreams: { egress: 'off' } },
  })
  t.throws(() => load({ SHOAL_SITE_LAT: '48.1' }), /site.lon must be set together/)
})

t.test('Keys are not printed, and an address must not hold one', async t => {
  const keyed = SOURCES.find(({ key }) => key !== undefined && key.sharedWith === undefined)
  if (keyed !== undefined) {
    const name = `SHOAL_${keyed.id.replaceAll('-', '_').toUpperCase()}`
    const loaded = load(
      { [`${name}_${keyed.key?.variable ?? 'API_KEY'}`]: 'sesame' },
      '--print-config',
    )
    t.notMatch(JSON.stringify(loaded), 'sesame')
  }
  for (const url of [
    'https://u:sesame@a.example',
    'https://a.example/?key=1',
    'ftp://a.example',
    'a',
  ])
    t.throws(() => load({ SHOAL_METNO_URL: url }), { code: 'config_invalid' }, url)
})
