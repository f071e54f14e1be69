# What every target of the project has in common: warnings and sanitizers.

add_library(lossscaler_flags INTERFACE)
# Designated initialisers name what they set; the rest has its defaults.
target_compile_options(
  lossscaler_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                             -Wno-missing-field-initializers)
if(LOSSSCALER_WERROR)
  target_compile_options(lossscaler_flags INTERFACE -Werror)
endif()
if(LOSSSCALER_SANITIZE)
  # Without the checks for null and vptr: a null pointer faults by itself, and the
  # two cost a fifth of the time to compile. With instrumented code g++ 12 warns of
  # members of std::regex that it takes for uninitialised.
  add_compile_options(
    -fsanitize=${LOSSSCALER_SANITIZE} -fno-sanitize=null,vptr
    -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${LOSSSCALER_SANITIZE})
endif()

# Code that protoc wrote is not ours to check, and checks of undefined behaviour
# make it three times as slow to compile.
add_library(lossscaler_generated_flags INTERFACE)
if(LOSSSCALER_SANITIZE)
  target_compile_options(lossscaler_generated_flags
                         INTERFACE -fno-sanitize=undefined)
endif()
