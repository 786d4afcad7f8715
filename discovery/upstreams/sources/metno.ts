import { defineSource } from '../source.ts'

/** Weather of the Norwegian Meteorological Institute: https://api.met.no/doc/TermsOfService */
export default defineSource({
  id: 'metno',
  name: 'met-norway',
  url: 'https://api.met.no/weatherapi',
  ttlSeconds: 1800,
  maxStaleSeconds: 86_400,
  rate: { requests: 20, perSeconds: 10 },
  concurrency: 2,
  licence: 'CC-BY-4.0',
  attribution: 'Weather data: MET Norway (CC BY 4.0)',
  verify: {
    path: '/locationforecast/2.0/compact',
    query: { lat: 59.91, lon: 10.75 },
    form: 'json',
    fields: [
      'geometry.coordinates[]',
      'properties.meta.updated_at',
      'properties.timeseries[].time',
      'properties.timeseries[].data.instant.details.air_temperature',
      'properties.timeseries[].data.instant.details.wind_speed',
    ],
  },
})
