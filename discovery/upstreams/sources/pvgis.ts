import { defineSource } from '../source.ts'

/** Yield of solar panels in a typical year: https://joint-research-centre.ec.europa.eu/photovoltaic-geographical-information-system-pvgis */
export default defineSource({
  id: 'pvgis',
  name: 'pvgis',
  url: 'https://re.jrc.ec.europa.eu/api',
  ttlSeconds: 30 * 86_400,
  maxStaleSeconds: Number.POSITIVE_INFINITY,
  rate: { requests: 2, perSeconds: 2 },
  concurrency: 1,
  licence: null,
  attribution: 'PVGIS © European Union',
  verify: {
    path: '/seriescalc',
    query: {
      ...{ lat: 48.1, lon: 11.5, peakpower: 1, loss: 14, angle: 30, aspect: 0, pvcalculation: 1 },
      ...{ startyear: 2019, endyear: 2019, outputformat: 'json' },
    },
    form: 'json',
    fields: ['outputs.hourly[].time', 'outputs.hourly[].P', 'outputs.hourly[].T2m'],
  },
})
