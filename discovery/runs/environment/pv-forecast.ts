import { findPlace } from '../../fields/coordinates.ts'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { PvForecast, PvInput } from '../../modules/environment/pv-forecast.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import { isOpenMeteoAllowed } from '../../upstreams/open-meteo-terms.ts'
import brightsky from '../../upstreams/sources/brightsky.ts'
import forecastSolar from '../../upstreams/sources/forecast-solar.ts'
import openMeteo from '../../upstreams/sources/open-meteo.ts'
import pvgis from '../../upstreams/sources/pvgis.ts'
import { type SourceAttempt, trySources } from '../../upstreams/try-sources.ts'
import { askForecastSolar } from './solar/forecast-solar.ts'
import type { Panels } from './solar/panels.ts'
import { askPvgis } from './solar/pvgis.ts'
import { modelClearSky, modelFromBrightsky, modelFromOpenMeteo } from './solar/weather-model.ts'
import { isNearGermany } from './weather/brightsky.ts'

/** A provider's forecast, else own models of the weather, of a typical year, of a clear sky. */
const run: LookupRun<PvInput, PvForecast> = async (input, context) => {
  const { site } = context.settings
  const panels: Panels = {
    ...findPlace(input, site),
    peakPowerKw: input.peak_power_kw,
    tiltDegrees: site.pv_tilt_deg,
    azimuthDegrees: site.pv_azimuth_deg,
  }
  try {
    return await trySources(listAttempts(panels, context), context)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    context.warn('fallback_used', `the sky is taken to be clear, because ${error.message}`)
    return modelClearSky(panels, context.now())
  }
}

const listAttempts = (panels: Panels, context: LookupContext): SourceAttempt<PvForecast>[] => {
  const { settings } = context
  const all: (SourceAttempt<PvForecast> & { isOffered: boolean })[] = [
    { source: forecastSolar, isOffered: true, run: () => askForecastSolar(panels, context) },
    {
      source: openMeteo,
      isOffered: isOpenMeteoAllowed(settings),
      run: () => modelFromOpenMeteo(panels, context),
    },
    {
      source: brightsky,
      isOffered: isNearGermany(panels),
      run: () => modelFromBrightsky(panels, context),
    },
    { source: pvgis, isOffered: true, run: () => askPvgis(panels, context) },
  ]
  return all.filter(({ isOffered }) => isOffered)
}

export default run
