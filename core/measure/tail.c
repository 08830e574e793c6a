#include "core/measure/tail.h"

#include <math.h>

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int i = 1; i <= 500; i++) {
        double m = i, terms[2] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                  -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double step = 1;
        for (int k = 0; k < 2; k++) {
            d = 1 + terms[k] * d;
            c = 1 + terms[k] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < 1e-14)
            break;
    }
    return value;
}

/* The regularised incomplete beta function. */
static double beta_part(double a, double b, double x)
{
    if (!(x > 0))
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double dlb_f_tail(double f, double n1, double n2)
{
    if (isnan(f))
        return (double)NAN;
    return f <= 0 ? 1 : beta_part(n2 / 2, n1 / 2, n2 / (n2 + n1 * f));
}

double dlb_t_beyond(double beyond, double n)
{
    double low = 0, high = 1; /* t * t is F-distributed, of 1 and n */
    while (dlb_f_tail(high * high, 1, n) > beyond)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (dlb_f_tail(middle * middle, 1, n) > beyond)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double dlb_t_95(double n)
{
    return dlb_t_beyond(0.05, n);
}
