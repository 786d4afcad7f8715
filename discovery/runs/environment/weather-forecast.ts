import { findPlace } from '../../fields/coordinates.ts'
import type { LookupRun } from '../../lookup-run.ts'
import type { WeatherForecast, WeatherInput } from '../../modules/environment/weather-forecast.ts'
import { isOpenMeteoAllowed } from '../../upstreams/open-meteo-terms.ts'
import brightsky from '../../upstreams/sources/brightsky.ts'
import metno from '../../upstreams/sources/metno.ts'
import openMeteo from '../../upstreams/sources/open-meteo.ts'
import { type SourceAttempt, trySources } from '../../upstreams/try-sources.ts'
import { askBrightsky, isNearGermany } from './weather/brightsky.ts'
import { askMetno } from './weather/metno.ts'
import { askOpenMeteo } from './weather/open-meteo.ts'

/** MET Norway, then the sources that the terms and the place allow. */
const run: LookupRun<WeatherInput, WeatherForecast> = async (input, context) => {
  const place = findPlace(input, context.settings.site)
  const attempts: SourceAttempt<WeatherForecast>[] = [
    { source: metno, run: () => askMetno(place, context) },
  ]
  if (isOpenMeteoAllowed(context.settings))
    attempts.push({ source: openMeteo, run: () => askOpenMeteo(place, context) })
  if (isNearGermany(place))
    attempts.push({ source: brightsky, run: () => askBrightsky(place, context) })
  return trySources(attempts, context)
}

export default run
